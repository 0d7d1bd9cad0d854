package node_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// waitLimit ends tests that hang.
const waitLimit = 60 * time.Second

// newNode starts a node whose only NI is 0@lo.
func newNode(t *testing.T) *node.Node {
	t.Helper()
	cfg := config.Default()
	cfg.Networks = "lo"
	n, err := node.New(node.Config{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return n
}

var self = nid.ProcessID{NID: nid.Lo0(), PID: nid.LustrePID}

// operation is an operation of a node that runs in a goroutine of its own.
type operation struct {
	t      *testing.T
	cancel context.CancelFunc
	steps  chan node.Step
	done   chan error
}

// start runs an operation in the background, and waits until it can receive messages.
func start(t *testing.T, run func(context.Context, node.Report) error) *operation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	o := &operation{t: t, cancel: cancel, steps: make(chan node.Step, 100), done: make(chan error, 1)}
	go func() {
		o.done <- run(ctx, func(s node.Step) error {
			s.Payload = bytes.Clone(s.Payload)
			o.steps <- s
			return nil
		})
		cancel()
	}()
	t.Cleanup(cancel)
	if s := o.next(); !s.Ready {
		t.Fatalf("first step %+v, want Ready", s)
	}
	return o
}

// next returns the next step.
func (o *operation) next() node.Step {
	o.t.Helper()
	select {
	case s := <-o.steps:
		return s
	case err := <-o.done:
		o.done <- err
		if len(o.steps) == 0 {
			o.t.Fatalf("ended: %v", err)
		}
		return <-o.steps
	case <-time.After(waitLimit):
		o.t.Fatal("nothing happens")
	}
	return node.Step{}
}

// end waits for the end of the operation.
func (o *operation) end() error {
	o.t.Helper()
	select {
	case err := <-o.done:
		return err
	case <-time.After(waitLimit):
		o.t.Fatal("does not end")
	}
	return nil
}

// kinds has the number of events of each type, because the order of the types varies.
type kinds map[string]int

func (k kinds) report(s node.Step) error {
	if s.Event != nil {
		k[s.Event.Type]++
	}
	return nil
}

func pattern(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i * 7 >> 3)
	}
	return b
}

// transfer is a Put, the Sink that accepts its messages, and the events that both must report.
type transfer struct {
	name   string
	sink   node.SinkRequest
	put    node.PutRequest
	data   []byte
	events kinds // number of events of each type that Put must report
	want   []node.Event
}

var transfers = []transfer{
	{
		name: "small", sink: node.SinkRequest{Count: 1}, put: node.PutRequest{HdrData: 7}, data: []byte("hello"),
		events: kinds{"SEND": 1},
		want:   []node.Event{{RLength: 5, MLength: 5, HdrData: 7}},
	},
	{
		name: "empty", sink: node.SinkRequest{Count: 1}, events: kinds{"SEND": 1}, want: []node.Event{{}},
	},
	{
		name: "ACK", sink: node.SinkRequest{Count: 1}, put: node.PutRequest{Ack: true}, data: []byte("hello"),
		events: kinds{"ACK": 1, "SEND": 1},
		want:   []node.Event{{RLength: 5, MLength: 5}},
	},
	{
		name: "cut", sink: node.SinkRequest{Count: 1, Size: 3, Truncate: true}, data: []byte("hello"),
		events: kinds{"SEND": 1},
		want:   []node.Event{{RLength: 5, MLength: 3}},
	},
	{
		name: "offset", sink: node.SinkRequest{Count: 1, Size: 100, ManageRemote: true}, put: node.PutRequest{Offset: 90}, data: []byte("hello"),
		events: kinds{"SEND": 1},
		want:   []node.Event{{RLength: 5, MLength: 5, Offset: 90}},
	},
	{
		name: "more than one message", sink: node.SinkRequest{Count: 3, Size: 4 << 20, ManageRemote: true}, data: pattern(2<<20 + 1), put: node.PutRequest{Ack: true},
		events: kinds{"ACK": 3, "SEND": 3},
		want: []node.Event{
			{RLength: 1 << 20, MLength: 1 << 20},
			{RLength: 1 << 20, MLength: 1 << 20, Offset: 1 << 20},
			{RLength: 1, MLength: 1, Offset: 2 << 20},
		},
	},
	{
		name: "more messages than buffers", sink: node.SinkRequest{Count: 20, Size: 1 << 20}, data: pattern(20 << 20), put: node.PutRequest{Ack: true},
		events: kinds{"ACK": 20, "SEND": 20},
		want:   slices.Repeat([]node.Event{{RLength: 1 << 20, MLength: 1 << 20}}, 20),
	},
}

func TestSinkTakesWhatPutSends(t *testing.T) {
	for _, test := range transfers {
		t.Run(test.name, test.run)
	}
}

func (test transfer) run(t *testing.T) {
	n := newNode(t)
	test.sink.Portal, test.sink.MatchBits, test.sink.IgnoreBits = 9, 0x10, 0xF
	sink := start(t, func(ctx context.Context, r node.Report) error { return n.Sink(ctx, test.sink, r) })
	test.put.Portal, test.put.MatchBits, test.put.Target = 9, 0x17, self
	events := kinds{}
	if err := n.Put(t.Context(), test.put, bytes.NewReader(test.data), events.report); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(test.events, events); diff != "" {
		t.Errorf("events of Put (-want +got):\n%s", diff)
	}
	payload := test.took(t, sink)
	if !bytes.HasPrefix(test.data, payload) || len(payload) < len(test.data) && !test.sink.Truncate {
		t.Errorf("got %d bytes that are not the %d sent", len(payload), len(test.data))
	}
	if err := sink.end(); err != nil {
		t.Errorf("sink: %v", err)
	}
}

// took checks the events that the sink has reported, and returns the payload that the sink received.
func (test *transfer) took(t *testing.T, sink *operation) (payload []byte) {
	t.Helper()
	for _, want := range test.want {
		want.Type, want.Target, want.Initiator, want.Source, want.Sender = "PUT", self, self, self, self.NID
		want.Portal, want.MatchBits, want.Unlinked = 9, 0x17, true
		want.MsgType, want.Options = "PUT", uint32(portals.OpPut)
		if test.sink.ManageRemote {
			want.Options |= uint32(portals.ManageRemote)
		}
		if test.sink.Truncate {
			want.Options |= uint32(portals.Truncate)
		}
		step := sink.next()
		if want.MD = step.Event.MD; want.MD == 0 {
			t.Error("event names no MD")
		}
		if diff := cmp.Diff(&want, step.Event, cmp.AllowUnexported(nid.NID{})); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
		payload = append(payload, step.Payload...)
	}
	return payload
}

func TestGetFetchesWhatServeHas(t *testing.T) {
	content := pattern(2<<20 + 100)
	for _, test := range []struct {
		name   string
		offset uint32
		length uint64
		want   []byte
		gets   int
	}{
		{"part", 10, 50, content[10:60], 1},
		{"all", 0, uint64(len(content)), content, 3},
		{"beyond the end", 1 << 20, 2 << 20, content[1<<20:], 2},
		{"behind the end", 3 << 20, 10, nil, 1},
		{"nothing", 0, 0, nil, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := newNode(t)
			serve := start(t, func(ctx context.Context, r node.Report) error {
				return n.Serve(ctx, node.ServeRequest{Portal: 5, MatchBits: 3, Count: test.gets}, bytes.NewReader(content), r)
			})
			var got []byte
			get := node.GetRequest{Target: self, Portal: 5, MatchBits: 3, Offset: test.offset, Length: test.length}
			err := n.Get(t.Context(), get, func(s node.Step) error { got = append(got, s.Payload...); return nil })
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, test.want) {
				t.Errorf("got %d bytes, want %d; or others", len(got), len(test.want))
			}
			for range test.gets {
				if s := serve.next(); s.Event == nil || s.Event.Type != "GET" {
					t.Errorf("step %+v, want a GET event", s)
				}
			}
			if err := serve.end(); err != nil {
				t.Errorf("serve: %v", err)
			}
		})
	}
}

func TestNoNodeAnswers(t *testing.T) {
	n := newNode(t)
	for _, test := range []struct {
		name string
		run  func() error
		want string
	}{
		{"PUT", func() error {
			return n.Put(t.Context(), node.PutRequest{Target: self, Portal: 1, Ack: true, Timeout: time.Millisecond}, strings.NewReader("x"), ignore)
		}, "PUT to 12345-0@lo, portal 1, offset 0: no ACK within 1ms: connection timed out"},
		{"GET", func() error {
			return n.Get(t.Context(), node.GetRequest{Target: self, Portal: 1, Length: 1, Timeout: time.Millisecond}, ignore)
		}, "GET from 12345-0@lo, portal 1, offset 0: no REPLY within 1ms: connection timed out"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.run()
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
			if !errors.Is(err, syscall.ETIMEDOUT) || cli.HintOf(err) == "" {
				t.Errorf("error without errno or hint: %v", err)
			}
		})
	}
	if drops := n.Status().Stats.DropReasons["no match"]; drops != 2 {
		t.Errorf("%d drops counted, want 2", drops)
	}
}

func TestCancelledSinkLeavesNothing(t *testing.T) {
	n := newNode(t)
	sink := start(t, func(ctx context.Context, r node.Report) error {
		return n.Sink(ctx, node.SinkRequest{Portal: 2}, r)
	})
	sink.cancel()
	if err := sink.end(); !errors.Is(err, context.Canceled) {
		t.Fatalf("sink ended with %v", err)
	}
	err := n.Put(t.Context(), node.PutRequest{Target: self, Portal: 2}, strings.NewReader("x"), func(node.Step) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if drops := n.Status().Stats.DropReasons["no match"]; drops != 1 {
		t.Errorf("%d drops counted, want 1: a match entry was left behind", drops)
	}
}

func TestReportEndsAnOperation(t *testing.T) {
	n := newNode(t)
	stop := errors.New("enough")
	err := n.Sink(t.Context(), node.SinkRequest{}, func(node.Step) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("sink ended with %v", err)
	}
	err = n.Put(t.Context(), node.PutRequest{Target: self, Portal: 1}, strings.NewReader("x"), func(node.Step) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("put ended with %v", err)
	}
}

func TestRefusedRequests(t *testing.T) {
	n := newNode(t)
	broken := errors.New("broken")
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"sink too large", n.Sink(t.Context(), node.SinkRequest{Size: node.MaxBuffer + 1}, ignore), "size 67108865: want 1 to 67108864 bytes"},
		{"sink of no portal", n.Sink(t.Context(), node.SinkRequest{Portal: 64}, ignore), "portal 64: want 0 to 63"},
		{"negative count", n.Sink(t.Context(), node.SinkRequest{Count: -1}, ignore), "count -1: want 0 or more"},
		{"serve of no portal", n.Serve(t.Context(), node.ServeRequest{Portal: -1}, strings.NewReader("x"), ignore), "MEAttach: invalid argument"},
		{"serve too much", n.Serve(t.Context(), node.ServeRequest{}, io.LimitReader(zeros{}, node.MaxBuffer+1), ignore), "content has more than 67108864 bytes"},
		{"get as good as all", n.Get(t.Context(), node.GetRequest{Offset: 2, Length: math.MaxUint64}, ignore), "offsets have 32 bits: 4 GiB is the end"},
		{"get too much", n.Get(t.Context(), node.GetRequest{Offset: 2, Length: 1<<32 - 1}, ignore), "offsets have 32 bits: 4 GiB is the end"},
		{"put from a broken source", n.Put(t.Context(), node.PutRequest{}, failing{broken}, ignore), "read data: broken"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.err == nil || test.err.Error() != test.want {
				t.Errorf("error %v, want %s", test.err, test.want)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestPingSelf(t *testing.T) {
	n := newNode(t)
	reply, err := n.Ping(t.Context(), node.PingRequest{Target: self})
	if err != nil {
		t.Fatal(err)
	}
	if reply.Primary != nid.Lo0() || !reply.MultiRail || len(reply.NIs) != 0 {
		t.Errorf("ping of a node with 0@lo only: %+v", reply)
	}
}
