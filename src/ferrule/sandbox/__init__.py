"""The handles through which anything outside the process is touched: files, commands, connections."""
