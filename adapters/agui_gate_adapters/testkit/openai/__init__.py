"""The refusals and checks that OpenAI's two APIs share."""
