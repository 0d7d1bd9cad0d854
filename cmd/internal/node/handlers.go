package node

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/handlers"
	"ulnet/cmd/internal/program"
)

// The operations on event handlers.
var (
	OpHandlers    = control.Question[control.None, []handlers.Status]{Path: "/v1/handlers", Doc: "the event handlers; arguments of their programs only for root and the user of lnetd"}
	OpTestHandler = control.Command[HandlerName, handlers.Run]{Path: "/v1/handlers/test", Doc: "runs an event handler on an event of a test, until it has ended"}
)

// HandlerName names an event handler.
type HandlerName struct {
	Name string `json:"name"` // name of the handler, as in the section handlers of the configuration
}

// startHandlers starts the event handlers of the configuration.
func (n *Node) startHandlers() error {
	socket, err := filepath.Abs(n.cfg.Socket)
	if err != nil {
		return err
	}
	list, err := handlersOf(n.cfg.Handlers)
	if err != nil {
		return err
	}
	n.handlers = handlers.Start(handlers.Config{Handlers: list, Log: n.cfg.Log, Env: func() []string {
		return []string{"LNETD_NIDS=" + strings.Join(n.nidTexts(), " "), "LNETD_SOCKET=" + socket}
	}})
	return nil
}

// handlersOf returns event handlers as they are configured.
func handlersOf(configured []config.Handler) (list []handlers.Handler, err error) {
	for _, h := range configured {
		user, err := program.UserOf("handler "+h.Name, h.User)
		if err != nil {
			return nil, h.UserAt.Wrap(err)
		}
		list = append(list, handlers.Handler{
			Name: h.Name, On: h.On, Program: h.Run, User: user, Timeout: h.Timeout, Interval: h.Interval,
			Selects: func(event string) bool {
				return slices.ContainsFunc(h.On, func(s string) bool { return config.SelectsEvent(s, event) })
			},
		})
	}
	return list, nil
}

func (n *Node) nidTexts() (list []string) {
	for _, id := range n.NIDs() {
		list = append(list, id.String())
	}
	return list
}

// Handlers returns the state of the event handlers, in the order of the configuration.
func (n *Node) Handlers() []handlers.Status { return n.handlers.Status() }

// askHandlers returns the state of the event handlers. Clients that may not change anything get it
// without the arguments of the programs.
func (n *Node) askHandlers(ctx context.Context, _ control.None) ([]handlers.Status, error) {
	list := n.Handlers()
	for i := range list {
		if p := list[i].Program; len(p) > 1 && !control.MayChange(ctx) {
			list[i].Program = []string{p[0], config.NoArguments}
		}
	}
	return list, nil
}

// TestHandler runs the program of an event handler with an event of the source "test", and
// returns how it ended. ENOENT: there is no such handler.
func (n *Node) TestHandler(ctx context.Context, h HandlerName) (handlers.Run, error) {
	r, err := n.handlers.Test(ctx, h.Name)
	if errors.Is(err, handlers.ErrNone) {
		err = cli.Hint(cli.Errnof(syscall.ENOENT, "there is no handler %s", h.Name), "'gossipctl handlers' lists those of the section handlers of lnetd's configuration")
	}
	if err == nil {
		n.cfg.Log.Info("handler tested", slog.String("handler", h.Name), slog.Int("exit", r.Exit))
	}
	return r, err
}
