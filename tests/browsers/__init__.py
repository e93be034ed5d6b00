"""The components in browsers other than Chromium: Firefox and WebKit. `make browsers`, not part of CI."""
