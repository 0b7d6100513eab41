"""Documents, what they are merged and resolved from, and when each is live. No file is read here."""
