"""Serving an application: from what was typed (`plan`) to a uvicorn server with bounds."""
