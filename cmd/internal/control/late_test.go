package control_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/cli"
	. "ulnet/cmd/internal/control"
)

// TestLateErrors: an operation that fails after the time-out of a write still gets its error, with errno
// and hint, to the client. That time-out bounds how long the client takes to read the error, not how long
// the operation takes.
func TestLateErrors(t *testing.T) {
	const stall = 500 * time.Millisecond
	late := func() error {
		<-time.After(2 * stall)
		return cli.Hint(cli.Errnof(syscall.ETIMEDOUT, "no answer"), "try again")
	}
	question := Question[None, None]{Path: "/v1/question", Doc: "fails late"}
	command := Command[None, None]{Path: "/v1/command", Doc: "fails late"}
	action := Action[None]{Path: "/v1/action", Doc: "fails late"}
	with := Command[None, None]{Path: "/v1/with", Doc: "fails late"}
	answer := func() (None, error) { return None{}, late() }
	d := serve(t, Config{StallTimeout: stall, Routes: []Route{
		question.Do(Ask(answer)), command.Do(Ask(answer)), action.Do(Just(late)),
		with.DoWith(func(context.Context, None, io.Reader) (None, error) { return None{}, late() }),
	}})
	c := NewClient(d.path)
	for name, call := range map[string]func() error{
		"question": func() error { _, err := question.Call(t.Context(), c, None{}); return err },
		"command":  func() error { _, err := command.Call(t.Context(), c, None{}); return err },
		"action":   func() error { return action.Call(t.Context(), c, None{}) },
		"data":     func() error { _, err := with.CallWith(t.Context(), c, None{}, http.NoBody); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := call(); !errors.Is(err, syscall.ETIMEDOUT) || err.Error() != "no answer" || cli.HintOf(err) != "try again" {
				t.Errorf("%v, hint %q", err, cli.HintOf(err))
			}
		})
	}
}
