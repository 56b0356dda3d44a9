"""What commands print or write: tables, JSON, CSV, and a page."""
