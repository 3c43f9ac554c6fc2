"""The application: what joins the stages, each function one command."""
