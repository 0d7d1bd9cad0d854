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

// SendRequest says how to send the data that follows the request.
type SendRequest struct {
	Group string `json:"group"` // name of the group
	Lines bool   `json:"lines"` // each line is a message, without its newline
	// If Wait is set, each message is sent only when all members have the previous one. Otherwise
	// as many messages are in flight as the window allows.
	Wait      bool  `json:"wait"`
	TimeoutMS int64 `json:"timeout_ms"` // time limit for becoming a member; 0: default
	// DeliverTimeoutMS bounds the time until all members have a message; 0: no limit.
	DeliverTimeoutMS int64 `json:"deliver_timeout_ms,omitempty"`
}

// SendResult is the outcome of the messages that were sent.
type SendResult struct {
	Messages  int       `json:"messages"`   // number of messages that all live members have
	Bytes     int64     `json:"bytes"`      // number of bytes of these messages
	ElapsedUS int64     `json:"elapsed_us"` // duration of the operation, in µs
	Version   string    `json:"version"`    // version of the roster when the last message was sent
	Failed    []nid.NID `json:"failed"`     // members that failed meanwhile and may lack messages
	Split     bool      `json:"split"`      // some members in Failed were only silent, and may be alive
}

// sendsUnderWay bounds the messages that wait to be released, in addition to the bound that the
// window sets.
const sendsUnderWay = 4096

// Send sends messages, and returns when all live members have them all. The error is about the
// first message that could not be sent or is lost:
//
//	ESRCH      reliable multicast is not enabled, or the group is not joined
//	ENOENT     no such group
//	ETIMEDOUT  no manager answers, or not all members have a message in time
//	EHOSTUNREACH  no manager hears more than half of the members
//	EMSGSIZE   a message longer than MaxMcast bytes, or longer than a window
//	ESTALE     this node was expelled
//	ECANCELED  this node has left the group
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

// eachMessage calls send for each message of a stream.
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
	in.Buffer(nil, config.MaxMcast+1) // with the newline
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

// splitLines is like bufio.ScanLines, but does not remove carriage returns.
func splitLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// sending is one call of Send, Carry or Bench with its messages in flight. The method follow, which runs in a
// goroutine of its own, waits for their outcomes.
type sending struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	group  *rmcast.Group
	room   chan struct{} // has one token for each message in flight
	under  chan underWay
	done   chan struct{}

	sent SendResult // owned by follow until done is closed
	err  error      // owned by follow until done is closed

	released func(since time.Time) // called for each released message; may be nil
	within   time.Duration         // time limit for delivery to all members; 0: none
}

// underWay is a message that waits to be released: its size in bytes, and the time at which it was sent.
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

// send sends a message when fewer than the limit are in flight.
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
	s.under <- underWay{sending, len(data), at} // cannot block, because under has as much capacity as room
	return nil
}

// follow waits for the outcome of each message, in order. When a message is lost, the later ones
// are cancelled.
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

// wait waits for the outcome of a message, within the time limit.
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

// late returns the error of a message that took too long; it names the members that have not
// acknowledged the message.
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

// end waits for the messages in flight.
func (s *sending) end() (SendResult, error) {
	close(s.under)
	<-s.done
	s.cancel(nil)
	return s.sent, s.err
}

// Carry sends the messages that the function cut makes, and returns when all live members have them. It
// passes to cut the largest size of a message, in bytes. It first waits until this node is a member.
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
