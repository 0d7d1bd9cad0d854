package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ulnet/cmd/internal/cli"
)

// watchInterval is the time between two questions by which a client finds out whether the daemon that
// carries out its command still answers.
const watchInterval = 20 * time.Second

// watchPath is the path of the question by which a client finds out whether the daemon still
// answers.
const watchPath = "/v1/status"

// errSilent is part of the error after a question that was not answered in time.
var errSilent = errors.New("has not answered")

// silent returns the error of a daemon that does not answer questions.
func (c *Client) silent() error {
	return cli.Hint(fmt.Errorf("lnetd %w in %v", errSilent, c.patience),
		"it is stuck or stopped: see its log, 'lnetctl doctor' and 'lnetctl bugreport' before you restart it")
}

// watched returns a context for a request that may take as long as it needs while the daemon answers
// questions. When a question has no answer in time, the context ends, and its cause says so. The caller calls
// stop at the end of the request.
func (c *Client) watched(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(c.watch)
		defer tick.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-tick.C:
				if err := c.ask(ctx, watchPath, new(json.RawMessage)); errors.Is(err, errSilent) {
					cancel(err)
				}
			}
		}
	}()
	return ctx, func() { cancel(nil); <-ended }
}
