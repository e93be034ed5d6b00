"""The components in Chromium, in pages of another origin, with a real server behind them."""
