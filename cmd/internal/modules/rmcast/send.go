package rmcast

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
)

// SendRequest says how to send to a group; what is sent comes besides.
type SendRequest struct {
	Group string `json:"group"`
	Lines bool   `json:"lines"` // each line is a message, without its end
	// Wait has each message wait until all have the one before; otherwise as many are
	// under way as the window takes.
	Wait      bool  `json:"wait"`
	TimeoutMS int64 `json:"timeout_ms"` // of becoming a member
	// DeliverTimeoutMS is how long all may take to have a message; 0: for ever.
	DeliverTimeoutMS int64 `json:"deliver_timeout_ms,omitempty"`
}

// SendResult says what became of messages.
type SendResult struct {
	Messages  int       `json:"messages"` // that all live members have
	Bytes     int64     `json:"bytes"`
	ElapsedUS int64     `json:"elapsed_us"`
	Version   string    `json:"version"` // of the list of members, of the last one
	Failed    []nid.NID `json:"failed"`  // members that failed meanwhile, and may lack some
	Split     bool      `json:"split"`   // some of them were only silent, and may live
}

// sendsUnderWay is how many messages may wait to be released, besides the window's bound.
const sendsUnderWay = 4096

// Send sends messages, and returns when all live members have all. Errors say
// what became of the first message that could not be sent, or is lost:
//
//	ESRCH      this node takes no part in multicast, or in the group
//	ENOENT     there is no such group
//	ETIMEDOUT  no manager answers, or not all have a message in time
//	EHOSTUNREACH  the group has no manager that hears most members
//	EMSGSIZE   a message of more than MaxMcast bytes, or than a window
//	ESTALE     this node was expelled
//	ECANCELED  it has left the group
func (m *Module) Send(ctx context.Context, r SendRequest, body io.Reader) (SendResult, error) {
	group, err := m.ready(ctx, r.Group, r.TimeoutMS)
	if err != nil {
		return SendResult{}, err
	}
	room := sendsUnderWay
	if r.Wait {
		room = 1
	}
	began := time.Now()
	s := newSending(ctx, group, room)
	s.within = time.Duration(r.DeliverTimeoutMS) * time.Millisecond
	err = eachMessage(body, r.Lines, s.send)
	sent, lost := s.end()
	sent.ElapsedUS = time.Since(began).Microseconds()
	if err := cmp.Or(lost, err); err != nil {
		return sent, cli.Hint(fmt.Errorf("after %d messages that all have: %w", sent.Messages, err), "%s", cli.HintOf(err))
	}
	return sent, nil
}

// eachMessage calls send for the messages of a stream.
func eachMessage(r io.Reader, lines bool, send func([]byte) error) error {
	tooLong := cli.Hint(cli.Errnof(syscall.EMSGSIZE, "a message of more than %d bytes", config.MaxMcast), "send it in pieces")
	if !lines {
		data, err := io.ReadAll(io.LimitReader(r, config.MaxMcast+1))
		switch {
		case err != nil:
			return fmt.Errorf("read data: %w", err)
		case len(data) > config.MaxMcast:
			return tooLong
		}
		return send(data)
	}
	in := bufio.NewScanner(r)
	in.Buffer(nil, config.MaxMcast+2)
	in.Split(splitLines)
	for in.Scan() {
		if err := send(in.Bytes()); err != nil {
			return err
		}
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		return tooLong
	}
	return in.Err()
}

// splitLines is bufio.ScanLines that leaves carriage returns alone.
func splitLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// sending is messages on their way, of which another goroutine sees the end.
type sending struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	group  *rmcast.Group
	room   chan struct{} // a token for each message under way
	under  chan underWay
	done   chan struct{}

	sent SendResult // owned by follow until done
	err  error      // likewise

	released func(since time.Time) // may be nil
	within   time.Duration         // all have a message; 0: for ever
}

// underWay is a message that waits to be released.
type underWay struct {
	*rmcast.Sending
	size int
	at   time.Time
}

func newSending(ctx context.Context, group *rmcast.Group, room int) *sending {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &sending{
		ctx: ctx, cancel: cancel, group: group, room: make(chan struct{}, room), under: make(chan underWay, room), done: make(chan struct{}),
		sent: SendResult{Failed: []nid.NID{}},
	}
	go s.follow()
	return s
}

// send sends a message when there is room for it.
func (s *sending) send(data []byte) error {
	select {
	case s.room <- struct{}{}:
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
	at := time.Now()
	ctx, cancel := s.ctx, context.CancelFunc(func() {})
	if s.within > 0 {
		ctx, cancel = context.WithDeadline(s.ctx, at.Add(s.within))
	}
	sending, err := s.group.SendAsync(ctx, data)
	cancel()
	if err != nil {
		if cause := context.Cause(s.ctx); cause != nil {
			err = cause
		} else if errors.Is(err, context.DeadlineExceeded) {
			err = s.late(err)
		}
		return explain(err)
	}
	s.under <- underWay{sending, len(data), at} // never blocks: there was room
	return nil
}

// follow waits for each message, in order. The first that is lost ends all.
func (s *sending) follow() {
	defer close(s.done)
	for u := range s.under {
		r, err := s.wait(&u)
		<-s.room
		split := errors.Is(err, rmcast.ErrSplit)
		if err != nil && !split && s.err == nil {
			s.err = explain(err)
			s.cancel(s.err)
		}
		if s.err != nil {
			continue
		}
		s.sent.Split = s.sent.Split || split
		s.sent.Messages++
		s.sent.Bytes += int64(u.size)
		s.sent.Version = r.Version.String()
		for _, id := range r.Failed {
			if !slices.Contains(s.sent.Failed, id.NID) {
				s.sent.Failed = append(s.sent.Failed, id.NID)
			}
		}
		if s.released != nil {
			s.released(u.at)
		}
	}
}

// wait waits until all have a message, or for as long as the user does.
func (s *sending) wait(u *underWay) (rmcast.Result, error) {
	if s.within <= 0 {
		return u.Wait(s.ctx)
	}
	ctx, cancel := context.WithDeadline(s.ctx, u.at.Add(s.within))
	defer cancel()
	r, err := u.Wait(ctx)
	if errors.Is(err, context.DeadlineExceeded) && s.ctx.Err() == nil {
		err = s.late(err)
	}
	return r, err
}

// late says for whom a message waits that took too long.
func (s *sending) late(err error) error {
	st := s.group.Status()
	if st.Refusal != nil {
		return fmt.Errorf("not all members have the message after %v: %w", s.within, st.Refusal)
	}
	var waits []string
	for _, t := range st.Streams {
		for _, w := range t.Waits {
			if t.Origin == st.Self {
				waits = append(waits, w.Child.NID.String())
			}
		}
	}
	if len(waits) == 0 {
		waits = []string{"room in the window"}
	}
	return cli.Hint(cli.Errno(syscall.ETIMEDOUT, fmt.Errorf("not all members have the message after %v, it waits for %s: %w", s.within, strings.Join(waits, " "), err)),
		"it goes on being sent; 'scollctl mcast status' shows for whom it waits, 'scollctl mcast expel' says that a member is gone")
}

// end waits for what is under way.
func (s *sending) end() (SendResult, error) {
	close(s.under)
	<-s.done
	s.cancel(nil)
	return s.sent, s.err
}

// Carry sends messages to a group, and returns when all live members have them. It waits
// until this node is a member. cut makes them, of size bytes at most.
func (m *Module) Carry(ctx context.Context, name string, wait time.Duration, cut func(size int) iter.Seq[[]byte]) error {
	group, err := m.ready(ctx, name, wait.Milliseconds())
	if err != nil {
		return err
	}
	s := newSending(ctx, group, sendsUnderWay)
	status := group.Status()
	for data := range cut(status.Window * status.Fragment) {
		if err = s.send(data); err != nil {
			break
		}
	}
	_, lost := s.end()
	return cmp.Or(lost, err)
}
