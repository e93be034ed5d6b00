"""The built-in page, and the page built with CopilotKit in a checkout."""
