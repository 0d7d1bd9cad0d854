package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// sessionDoc is a session in JSON.
type sessionDoc struct {
	Name     string         `json:"name"`
	ID       string         `json:"id"` // id of the session, as STAMP@NID of the console
	Key      uint32         `json:"key"`
	Features uint32         `json:"features"`
	Timeout  float64        `json:"timeout"` // time without commands after which the session ends, in seconds
	Nodes    console.Counts `json:"nodes"`
}

func newSessionDoc(s console.Session) sessionDoc {
	return sessionDoc{s.Name, s.ID.String(), s.Key, uint32(s.Features), s.Timeout.Seconds(), s.Nodes}
}

func newSession(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use: "new_session [--timeout SECONDS] [--force] [NAME]", Short: "Begin a session",
		Long: `Begins the session of the console, of which there is one at a time, for the key in
LST_SESSION. The session ends when no command has come for the time-out. With
--force it takes nodes that are in sessions of other consoles, and ends an earlier
session of this one.`,
		Example:     "  export LST_SESSION=$$\n  lst new_session --timeout 100 check",
		Annotations: usageText("new_session [--timeout TIME] [--force] [NAME]"),
	}
	timeout := c.Flags().StringP("timeout", "t", "300", "end the session after so many `SECONDS` without a command")
	force := c.Flags().BoolP("force", "f", false, "take nodes of other sessions, and end an earlier one")
	c.RunE = func(c *cobra.Command, args []string) error {
		r := selftest.NewSessionRequest{Key: g.key(), Force: *force, Name: usualName()}
		if len(args) > 1 {
			return cli.Usagef("there is more than one name: %q", args[1])
		}
		if len(args) == 1 {
			r.Name = args[0]
		}
		var err error
		if r.Timeout, err = seconds(*timeout, "timeout"); err != nil {
			return err
		}
		if len(r.Name) > wire.MaxName {
			return failf("Name size is limited to %d", wire.MaxName)
		}
		if r.Features, err = featuresOf(g.getenv("LST_FEATURES")); err != nil {
			return err
		}
		s, err := g.begin(c, r)
		if err != nil {
			return err
		}
		if g.json {
			return cli.JSON(c.OutOrStdout(), newSessionDoc(s))
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "SESSION: %s FEATURES: %x TIMEOUT: %d FORCE: %s\n", s.Name, uint32(s.Features), int(s.Timeout/time.Second), yesNo(*force))
		_, noteErr := io.WriteString(c.ErrOrStderr(), keyNote(g.getenv("LST_SESSION"), cli.IsTerminal(c.ErrOrStderr())))
		return cmp.Or(err, noteErr)
	}
	return c
}

// begin asks the daemon for a session.
func (g *globals) begin(c *cobra.Command, r selftest.NewSessionRequest) (s console.Session, err error) {
	if r.Key == 0 {
		return s, after(notMade, failf("Can't find env LST_SESSION or value is not valid"))
	}
	s, err = selftest.OpNewSession.Call(c.Context(), g.client(), r)
	if err != nil {
		return s, after(notMade, refusal(err, "session", "Failed to create session"))
	}
	return s, nil
}

// seconds parses a number of seconds, at least 1. Its error has the name of the option.
func seconds(text, name string) (time.Duration, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return 0, failf("Invalid %s value", name)
	}
	return time.Duration(n) * time.Second, nil
}

func yesNo(b bool) string {
	if b {
		return "Yes"
	}
	return "No"
}

// usualName returns the name of a session without a name: the user and the host.
func usualName() string {
	name, host := "user", "host"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	text := name + "@" + host
	return text[:min(len(text), wire.MaxName)]
}

func endSession(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "end_session", Short: "End the session",
		Long: `Ends the session of the console, whatever its key is, and with it the tests of all
nodes in it. Nodes that refuse, or do not answer, are named; they keep the session until
it times out.`,
		Example: "  lst end_session", Args: cli.Args(), Annotations: usageText("end_session"),
		RunE: func(c *cobra.Command, _ []string) error {
			answers, err := selftest.OpEndSession.Call(c.Context(), g.client(), control.None{})
			if errors.Is(err, syscall.ESRCH) {
				err = nil // no session, which Lustre's tool does not report as an error, either
			}
			if err != nil {
				return refusal(err, "session", "Failed to end session")
			}
			if g.json {
				err = cli.JSON(c.OutOrStdout(), newAnswersDoc(answers))
			}
			return cmp.Or(err, printWarnings(c.ErrOrStderr(), answers, "end session"))
		},
	}
}

func showSession(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "show_session", Short: "Show the session",
		Long:    "Shows the session of the console: its name and id, its key, its features, and how\nmany nodes it has.",
		Example: "  lst show_session", Args: cli.Args(), Annotations: usageText("show_session"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := selftest.OpSession.Call(c.Context(), g.client(), control.None{})
			if err != nil {
				return after(noSession, refusal(err, "session", "Failed to show session"))
			}
			return cli.Show(c.OutOrStdout(), g.json, newSessionDoc(s), printSession)
		},
	}
}

func printSession(w io.Writer, s sessionDoc) error {
	_, err := fmt.Fprintf(w, "%s ID: %s, KEY: %d FEATURES: %x NODES: %d\n", s.Name, s.ID, s.Key, s.Features, s.Nodes.Total)
	return err
}
