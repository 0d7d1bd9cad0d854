package rmcast_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
)

// ends fails the test if f does not return within a minute.
func ends(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s has not returned after a minute", what)
	}
}

// TestWaitInHandler: RM-31: functions that wait return ErrInHandler at once in each handler,
// and change nothing: no additional message is delivered.
func TestWaitInHandler(t *testing.T) {
	spec.Covers(t, "RM-31")
	for name, wait := range map[string]func(g, other *rmcast.Group, under *rmcast.Sending) error{
		"Send": func(g, _ *rmcast.Group, _ *rmcast.Sending) error {
			_, err := g.Send(context.Background(), []byte("within"))
			return err
		},
		"SendAsync": func(g, _ *rmcast.Group, _ *rmcast.Sending) error {
			_, err := g.SendAsync(context.Background(), []byte("within"))
			return err
		},
		"Send to another group": func(_, other *rmcast.Group, _ *rmcast.Sending) error {
			_, err := other.Send(context.Background(), []byte("within"))
			return err
		},
		"Wait": func(_, _ *rmcast.Group, under *rmcast.Sending) error {
			_, err := under.Wait(context.Background())
			return err
		},
		"Ready": func(_, other *rmcast.Group, _ *rmcast.Sending) error { return other.Ready(context.Background()) },
		"Leave": func(g, _ *rmcast.Group, _ *rmcast.Sending) error { return g.Leave(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []error
				var g, other *rmcast.Group
				var under *rmcast.Sending
				try := func() { got = append(got, wait(g, other, under)) }
				r := newRingWith(t, 2, func(id int, cfg *rmcast.GroupConfig) {
					if id > 0 {
						return
					}
					cfg.Handle = func(*rmcast.Message) {
						if g != nil {
							try()
						}
					}
				})
				e := r.ends[0]
				var err error
				other, err = e.agent.Join(rmcast.GroupConfig{ // no node runs the manager of this group
					Group: group + 1, Managers: []nid.NID{r.ends[1].NID()},
					Handle: func(*rmcast.Message) {},
				})
				if err != nil {
					t.Fatal(err)
				}
				ends(t, "a handler", func() {
					r.running = true // the network holds messages back, so the other node does not answer
					if under, err = e.group.SendAsync(t.Context(), nil); err != nil {
						t.Error(err)
					}
					g = e.group
					g.Post(nil, func(rmcast.Result, error) { try() })
					r.running = false
					r.resume()
				})
				if len(got) != 2 || !errors.Is(got[0], rmcast.ErrInHandler) || !errors.Is(got[1], rmcast.ErrInHandler) {
					t.Errorf("in handlers: %v, want ErrInHandler twice", got)
				}
				if r.ends[1].got != 2 {
					t.Errorf("%d messages at the other node", r.ends[1].got)
				}
				if st := e.group.Status(); st.State != "member" {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

// TestStopInHandler: Close and Unmanage take effect when a handler calls them, and do not wait
// for that handler.
func TestStopInHandler(t *testing.T) {
	for name, handler := range map[string]string{"of messages": "message", "of changes": "change", "of Post": "post"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var e *ringEnd
				armed, stopped := false, 0
				stop := func() {
					if armed {
						armed = false
						e.agent.Unmanage(group)
						_ = e.agent.Close(t.Context())
						stopped++
					}
				}
				r := newRingWith(t, 2, func(id int, cfg *rmcast.GroupConfig) {
					if id == 0 && handler == "message" {
						cfg.Handle = func(*rmcast.Message) { stop() }
					}
					if id == 0 && handler == "change" {
						cfg.OnChange = func(rmcast.Version, error) { stop() }
					}
				})
				e, armed = r.ends[0], true
				ends(t, "a handler", func() {
					switch handler {
					case "change":
						_ = r.ends[1].agent.Close(t.Context()) // the group loses a member
					default:
						e.group.Post(nil, func(rmcast.Result, error) {
							if handler == "post" {
								stop()
							}
						})
					}
				})
				if stopped != 1 {
					t.Fatalf("stopped %d times", stopped)
				}
				if _, err := e.group.Send(t.Context(), nil); !errors.Is(err, rmcast.ErrClosed) {
					t.Errorf("after the end: %v", err)
				}
				if _, err := e.agent.Join(rmcast.GroupConfig{}); !errors.Is(err, rmcast.ErrClosed) {
					t.Errorf("joined after the end: %v", err)
				}
			})
		})
	}
}

// TestEndWithStuckHandler: Close and Leave end while a handler does not return, and each
// posted message gets ErrClosed once.
func TestEndWithStuckHandler(t *testing.T) {
	for name, end := range map[string]func(*ringEnd) error{
		"Close": func(e *ringEnd) error {
			if err := e.agent.Close(context.Background()); err != rmcast.ErrHandling {
				return fmt.Errorf("closed with %w", err)
			}
			return nil
		},
		"Leave": func(e *ringEnd) error {
			if err := e.group.Leave(context.Background()); !errors.Is(err, rmcast.ErrUnfinished) {
				return fmt.Errorf("left with %w", err)
			}
			return nil
		},
		"Leave with a deadline": func(e *ringEnd) error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if err := e.group.Leave(ctx); !errors.Is(err, context.DeadlineExceeded) {
				return errors.Join(err, errors.New("left before the deadline"))
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stuck, release, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
				handled := 0
				r := newRingWith(t, 1, func(_ int, cfg *rmcast.GroupConfig) {
					cfg.Handle = func(*rmcast.Message) {
						handled++
						close(stuck)
						<-release
					}
				})
				e := r.ends[0]
				var told []error
				go func() {
					defer close(over)
					e.group.Post(nil, func(_ rmcast.Result, err error) { told = append(told, err) })
				}()
				<-stuck
				e.group.Post(nil, func(_ rmcast.Result, err error) { told = append(told, err) })
				ends(t, name, func() {
					if err := end(e); err != nil {
						t.Error(err)
					}
					if err := e.agent.Close(context.Background()); err != rmcast.ErrHandling {
						t.Errorf("then closed with %v", err)
					}
				})
				close(release)
				<-over
				if err := e.agent.Close(context.Background()); err != nil {
					t.Errorf("closed at last with %v", err)
				}
				if len(told) != 2 || !errors.Is(told[0], rmcast.ErrClosed) || !errors.Is(told[1], rmcast.ErrClosed) || handled != 1 {
					t.Errorf("%d messages handled, told %v", handled, told)
				}
			})
		})
	}
}

// TestStopEndsWaits: Close ends a Send that waits for room, one that waits for other members,
// and a Ready.
func TestStopEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, 2)
		e := r.ends[1]
		joining, err := e.agent.Join(rmcast.GroupConfig{
			Group: group + 1, Managers: []nid.NID{e.NID()}, Handle: func(*rmcast.Message) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		r.running = true // the network holds all messages back
		results := make(chan error, 10)
		for range 9 { // more messages than a window has room for
			go func() {
				_, err := e.group.Send(context.Background(), nil)
				results <- err
			}()
		}
		go func() { results <- joining.Ready(context.Background()) }()
		synctest.Wait()
		ends(t, "Close", func() { _ = e.agent.Close(context.Background()) })
		for range 10 {
			ends(t, "what waits", func() {
				if err := <-results; !errors.Is(err, rmcast.ErrClosed) {
					t.Errorf("what waits returns %v", err)
				}
			})
		}
	})
}
