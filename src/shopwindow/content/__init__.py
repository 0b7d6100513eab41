"""YAML → checked documents."""
