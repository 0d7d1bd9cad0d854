package rmcast_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"ulnet/scoll/rmcast"
)

// TestCloseDuringCallbacks: a Close, or a Leave, tells the function of a posted message that the group was
// left. Another Close meanwhile waits for that function, a Close within it does not.
func TestCloseDuringCallbacks(t *testing.T) {
	for name, end := range map[string]func(e *ringEnd){
		"Close": func(e *ringEnd) { _ = e.agent.Close(context.Background()) },
		"Leave": func(e *ringEnd) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = e.group.Leave(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRing(t, 2)
				e := r.ends[1]
				r.running = true // the network holds all messages back
				release, over := make(chan struct{}), make(chan struct{})
				var within error
				e.group.Post(nil, func(_ rmcast.Result, err error) {
					<-release
					within = errors.Join(e.agent.Close(context.Background()), e.group.Leave(context.Background()))
				})
				go func() {
					defer close(over)
					end(e)
				}()
				synctest.Wait()
				if err := e.agent.Close(context.Background()); err != rmcast.ErrHandling {
					t.Errorf("closed with %v", err)
				}
				close(release)
				<-over
				if !errors.Is(within, rmcast.ErrInHandler) || errors.Is(within, rmcast.ErrHandling) {
					t.Errorf("within the function: %v", within)
				}
				if err := e.agent.Close(context.Background()); err != nil || e.agent.Handling() != 0 {
					t.Errorf("closed at last with %v, %d groups kept", err, e.agent.Handling())
				}
			})
		})
	}
}

// TestHandlingForgotten: an agent forgets a group that was left during a handler once that handler has
// returned.
func TestHandlingForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck, release, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
		cfg := rmcast.GroupConfig{}
		r := newRingWith(t, 1, func(_ int, c *rmcast.GroupConfig) {
			c.Handle = func(*rmcast.Message) {
				close(stuck)
				<-release
			}
			cfg = *c
		})
		e := r.ends[0]
		go func() {
			defer close(over)
			e.group.Post(nil, func(rmcast.Result, error) {})
		}()
		<-stuck
		if err := e.group.Leave(context.Background()); !errors.Is(err, rmcast.ErrUnfinished) || e.agent.Handling() != 1 {
			t.Errorf("left with %v, %d groups kept", err, e.agent.Handling())
		}
		close(release)
		<-over
		if _, err := e.agent.Join(cfg); err != nil || e.agent.Handling() != 0 {
			t.Errorf("%v, %d groups kept", err, e.agent.Handling())
		}
		_ = e.agent.Close(context.Background())
	})
}

// TestJoinBesideClose: the agent is closed while Join joins the multicast group. Join returns ErrClosed.
func TestJoinBesideClose(t *testing.T) {
	e := newStillRing(t, 1).ends[0]
	_ = e.group.Leave(t.Context()) // Close of the agent would wait for the driver to leave it, and the driver is joining below
	e.joins = func() { _ = e.agent.Close(t.Context()) }
	if g, err := e.agent.Join(rmcast.GroupConfig{Group: group + 1, Handle: func(*rmcast.Message) {}}); g != nil || !errors.Is(err, rmcast.ErrClosed) {
		t.Errorf("%v, want ErrClosed", err)
	}
}
