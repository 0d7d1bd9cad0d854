// Package daemon has what belongs to the process lnetd and not to its node: the log.
package daemon

import "ulnet/cmd/internal/control"

// The operations on the control socket.
var (
	OpLog      = control.Question[control.None, LogStatus]{Path: "/v1/log", Doc: "the level and the format of the log"}
	OpLogLevel = control.Action[LogLevel]{Path: "/v1/log/level", Doc: "changes the level of the log"}
)
