"""shopwindow: content in YAML, checked, published as releases of JSON and XML files."""
