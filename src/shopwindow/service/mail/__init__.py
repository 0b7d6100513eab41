"""Mail: a mail of the outbox is rendered from its templates and handed to a server."""
