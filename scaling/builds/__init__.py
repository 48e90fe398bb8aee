"""What is compared: arms, and the interpreters, environments and runtimes that they run on."""
