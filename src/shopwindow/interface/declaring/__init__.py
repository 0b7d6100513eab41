"""What a service offers, as values: operations with their parameters, tables, mails, an Interface of all."""
