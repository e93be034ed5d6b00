"""What OpenAI's two APIs share: the words of their refusals, and the rules for types, names, tools and attachments."""
