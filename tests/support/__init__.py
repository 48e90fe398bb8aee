"""What tests share: fabricated journals and interpreters, children and servers that really run."""
