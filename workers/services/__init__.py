"""What workloads talk to: servers in processes of their own."""
