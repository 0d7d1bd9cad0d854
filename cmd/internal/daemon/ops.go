// Package daemon has what belongs to the process lnetd and not to its node: the log, and the
// configuration in effect, which it can reload.
package daemon

import (
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
)

// The operations on the control socket.
var (
	OpLog      = control.Question[control.None, LogStatus]{Path: "/v1/log", Doc: "the level and the format of the log"}
	OpConfig   = control.Question[control.None, []config.Value]{Path: "/v1/config", Doc: "the value of every key of the configuration, and where it comes from; arguments of programs only for root and the user of lnetd", Long: true}
	OpReload   = control.Command[control.None, Reloaded]{Path: "/v1/reload", Doc: "reads the configuration again and applies what has changed"}
	OpLogLevel = control.Action[LogLevel]{Path: "/v1/log/level", Doc: "changes the level of the log"}
)
