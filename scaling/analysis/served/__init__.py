"""What a served study says of rates: capacity at an objective, and configurations at one rate."""
