"""Scaling laws: linear, Amdahl and Gunther's Universal Scalability Law, fitted with intervals."""
