package quick

import (
	"context"
	"slices"
	"time"

	"ulnet/lnet/selftest/console"
)

// halt stops the batch that is running. Units end after the RPC that is under way, and only by force if that takes
// too long: a server that is getting the data of a write does not notice that the client has withdrawn them, and
// waits for them. halt waits a few seconds at most for a client that does not answer; the next round will show whether
// that client is lost.
func (m *measurement) halt(ctx context.Context) error {
	batch := m.batch
	if m.batch = ""; batch == "" {
		return nil
	}
	over, err := m.stop(ctx, batch, false, stopTimeout)
	if !over && err == nil {
		_, err = m.stop(ctx, batch, true, forceTimeout)
	}
	return err
}

// stop stops a batch, and reports whether its units have ended within the limit.
func (m *measurement) stop(ctx context.Context, batch string, force bool, limit time.Duration) (over bool, err error) {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answers, err := m.console.Stop(within, m.Key, batch, force)
	if err == nil {
		m.lose(answers, "stop")
		over, err = m.ended(within, batch)
	}
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return over, err
}

// ended waits until no client that answers runs units of a batch.
func (m *measurement) ended(ctx context.Context, batch string) (bool, error) {
	for {
		answers, err := m.console.Query(ctx, m.Key, batch, 0, stopTimeout)
		if err != nil {
			return false, err
		}
		if !slices.ContainsFunc(answers, func(a console.Answer) bool { return a.Active > 0 }) {
			return true, nil
		}
		select {
		case <-time.After(stopInterval):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}
