"""The cards and the inbox as custom elements, served to pages of any origin."""
