"""Results for people: rows, tables, figures and pages; the only room that makes JSON of results."""
