"""What things cost, measured: one module a question; bench/README.md says how."""
