package control_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"ulnet/cmd/internal/cli"
	. "ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
)

// requests has, by the kind of operation, a function that sends a request for whose answer the client sets no limit
// of time.
var requests = map[string]func(context.Context, *Client) error{
	"long question": func(ctx context.Context, c *Client) error {
		_, err := Question[None, string]{Path: "/v1/any", Long: true}.Call(ctx, c, None{})
		return err
	},
	"command": func(ctx context.Context, c *Client) error {
		_, err := Command[None, string]{Path: "/v1/any"}.Call(ctx, c, None{})
		return err
	},
	"action": func(ctx context.Context, c *Client) error { return Action[None]{Path: "/v1/any"}.Call(ctx, c, None{}) },
	"operation": func(ctx context.Context, c *Client) error {
		return Operation[None, node.Step]{Path: "/v1/any"}.Call(ctx, c, None{}, func(node.Step) error { return nil })
	},
}

// TestMuteDaemon: every request to a daemon that accepts connections and answers nothing, such as one that is
// stopped, ends with an error that says so.
func TestMuteDaemon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path) // the kernel establishes connections and puts them into the backlog of l, but the test never accepts them
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for kind, request := range requests {
		t.Run(kind, func(t *testing.T) {
			c := NewClient(path)
			c.SetBounds(time.Millisecond, 1<<20)
			c.SetWatch(time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
			defer cancel()
			if err := request(ctx, c); err == nil || err.Error() != "lnetd has not answered in 1ms" || cli.HintOf(err) == "" {
				t.Errorf("error %v, hint %q", err, cli.HintOf(err))
			}
		})
	}
}

// TestBusyDaemon: a command may take as long as it needs while the daemon answers questions.
func TestBusyDaemon(t *testing.T) {
	status, slow := Question[None, string]{Path: "/v1/status", Doc: "answers"}, Action[None]{Path: "/v1/slow", Doc: "waits for three questions"}
	asked, done := make(chan struct{}), make(chan struct{})
	d := serve(t, Config{Routes: []Route{
		status.Do(Told(func() string {
			select {
			case asked <- struct{}{}:
			case <-done:
			}
			return "well"
		})),
		slow.Do(Just(func() error {
			for range 3 {
				<-asked
			}
			close(done)
			return nil
		})),
	}})
	c := NewClient(d.path)
	c.SetBounds(waitLimit, 1<<20)
	c.SetWatch(time.Millisecond)
	if err := slow.Call(t.Context(), c, None{}); err != nil {
		t.Error(err)
	}
}
