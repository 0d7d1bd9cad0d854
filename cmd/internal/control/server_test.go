package control_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ulnet/cmd/internal/cli"
	. "ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

var target = nid.ProcessID{NID: nid.MustParse("10.0.0.2@tcp"), PID: nid.LustrePID}

var byValue = cmpopts.EquateComparable(nid.NID{}, nid.ProcessID{})

func TestStatus(t *testing.T) {
	d := serve(t, Config{Routes: (&fakeNode{}).routes()})
	got, err := node.OpStatus.Call(t.Context(), NewClient(d.path), None{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff((&fakeNode{}).Status(), got, byValue); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPing(t *testing.T) {
	request := node.PingRequest{Target: target, Source: nid.MustParse("10.0.0.1@tcp"), Timeout: time.Second}
	reply := node.PingReply{Primary: target.NID, MultiRail: true, NIs: []node.PingedNI{{NID: target.NID, Status: "up"}}, Took: 5}
	d := serve(t, Config{Routes: (&fakeNode{ping: func(_ context.Context, r node.PingRequest) (node.PingReply, error) {
		if r != request {
			t.Errorf("request %+v, want %+v", r, request)
		}
		return reply, nil
	}}).routes()})
	got, err := node.OpPing.Call(t.Context(), NewClient(d.path), request)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(reply, got, byValue); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDiscoverAndSet(t *testing.T) {
	d := serve(t, Config{Routes: (&fakeNode{}).routes()})
	c := NewClient(d.path)
	reply, err := node.OpDiscover.Call(t.Context(), c, node.DiscoverRequest{Target: target.NID, Force: true, Timeout: time.Second})
	if err != nil || reply.Primary != target.NID || !reply.MultiRail {
		t.Errorf("%+v, %v", reply, err)
	}
	if err := node.OpSet.Call(t.Context(), c, node.Setting{Name: "discovery", Value: 1}); err != nil {
		t.Error(err)
	}
	if err := node.OpSet.Call(t.Context(), c, node.Setting{Name: "gravity"}); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("%v, want EINVAL", err)
	}
}

func TestAddAndRemoveNetworks(t *testing.T) {
	d := serve(t, Config{Routes: (&fakeNode{}).routes()})
	c := NewClient(d.path)
	if err := node.OpAddNetworks.Call(t.Context(), c, node.AddRequest{Networks: "tcp1(eth1)"}); err != nil {
		t.Error(err)
	}
	if err := node.OpAddNetworks.Call(t.Context(), c, node.AddRequest{}); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("add nothing: %v, want EINVAL", err)
	}
	if gone, err := node.OpRemoveNet.Call(t.Context(), c, node.RemoveRequest{Net: "tcp1"}); err != nil || len(gone.Warnings) != 1 {
		t.Error(gone, err)
	}
	if _, err := node.OpRemoveNet.Call(t.Context(), c, node.RemoveRequest{Net: "tcp2"}); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("remove an unknown net: %v, want ENOENT", err)
	}
}

func TestFail(t *testing.T) {
	var got node.FailRequest
	d := serve(t, Config{Routes: (&fakeNode{failed: &got}).routes()})
	c := NewClient(d.path)
	for _, r := range []node.FailRequest{{NID: target.NID, Count: 3}, {NID: nid.Any(), Count: -1}, {NID: target.NID}} {
		if err := node.OpFail.Call(t.Context(), c, r); err != nil {
			t.Error(err)
		}
		same(t, r, got)
	}
	if err := node.OpFail.Call(t.Context(), c, node.FailRequest{Count: 1}); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("no NID: %v, want EINVAL", err)
	}
}

func TestFaults(t *testing.T) {
	d := serve(t, Config{Routes: (&fakeNode{}).routes()})
	c := NewClient(d.path)
	added, err := node.OpAddFault.Call(t.Context(), c, node.AddFault{Statement: "loss 5%"})
	if err != nil || added.ID != 7 {
		t.Errorf("%+v, %v", added, err)
	}
	if _, err := node.OpAddFault.Call(t.Context(), c, node.AddFault{Statement: "lose 5%"}); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("no statement: %v, want EINVAL", err)
	}
	for _, e := range []node.EndFault{{Rule: 7}, {Rules: true}, {Partition: true}, {Pause: true}} {
		if err := node.OpEndFault.Call(t.Context(), c, e); err != nil {
			t.Errorf("%+v: %v", e, err)
		}
	}
	if err := node.OpEndFault.Call(t.Context(), c, node.EndFault{Rule: 8}); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("no such rule: %v, want ENOENT", err)
	}
}

func TestErrorsCrossTheSocket(t *testing.T) {
	failure := cli.Hint(&cableError{}, "plug the cable in")
	d := serve(t, Config{Routes: (&fakeNode{
		ping: func(context.Context, node.PingRequest) (node.PingReply, error) { return node.PingReply{}, failure },
		get:  func(context.Context, node.GetRequest, node.Report) error { return failure },
	}).routes()})
	c := NewClient(d.path)
	_, pingErr := node.OpPing.Call(t.Context(), c, node.PingRequest{Target: target})
	getErr := node.OpGet.Call(t.Context(), c, node.GetRequest{Target: target}, nil)
	for name, err := range map[string]error{"ping": pingErr, "get": getErr} {
		if err == nil || err.Error() != "no cable" || cli.HintOf(err) != "plug the cable in" || !errors.Is(err, syscall.ENETDOWN) {
			t.Errorf("%s: error %v, hint %q", name, err, cli.HintOf(err))
		}
	}
}

// cableError is an error whose text is not that of the errno which it wraps.
type cableError struct{}

func (*cableError) Error() string { return "no cable" }
func (*cableError) Unwrap() error { return syscall.ENETDOWN }

// steps are the progress reports of an operation, with payload.
var steps = []node.Step{
	{Ready: true},
	{Event: &node.Event{Type: "PUT", Target: target, MatchBits: 1 << 63, MLength: 3, Status: -5, Unlinked: true}, Payload: []byte("a\nb")},
	{Missed: 4},
	{Event: &node.Event{Type: "PUT", Target: target, MLength: 1 << 20}, Payload: bytes.Repeat([]byte{'\n', '{'}, 1<<19)},
}

func reportAll(report node.Report) error {
	for _, s := range steps {
		if err := report(s); err != nil {
			return err
		}
	}
	return nil
}

func TestOperations(t *testing.T) {
	data := strings.Repeat("0123456789abcdef", 3<<16) // the text has 3 MiB
	read := func(r io.Reader, report node.Report) error {
		got, err := io.ReadAll(r)
		if err != nil || string(got) != data {
			t.Errorf("got %d bytes of data, error %v", len(got), err)
		}
		return reportAll(report)
	}
	sink := node.SinkRequest{Portal: 1, MatchBits: 1 << 63, IgnoreBits: 3, Size: 4, Count: 5, ManageRemote: true, Truncate: true}
	put := node.PutRequest{Target: target, Portal: 1, MatchBits: 2, HdrData: 1<<64 - 1, Offset: 4, Ack: true, Timeout: 5}
	serving := node.ServeRequest{Portal: 1, MatchBits: 2, Count: 3}
	get := node.GetRequest{Target: target, Portal: 1, MatchBits: 2, Offset: 3, Length: 1 << 40, Timeout: 5}
	d := serve(t, Config{Routes: (&fakeNode{
		sink: func(_ context.Context, r node.SinkRequest, f node.Report) error {
			same(t, sink, r)
			return reportAll(f)
		},
		put: func(_ context.Context, r node.PutRequest, b io.Reader, f node.Report) error {
			same(t, put, r)
			return read(b, f)
		},
		serve: func(_ context.Context, r node.ServeRequest, b io.Reader, f node.Report) error {
			same(t, serving, r)
			return read(b, f)
		},
		get: func(_ context.Context, r node.GetRequest, f node.Report) error { same(t, get, r); return reportAll(f) },
	}).routes()})
	c := NewClient(d.path)
	for _, test := range []struct {
		name string
		run  func(node.Report) error
	}{
		{"sink", func(f node.Report) error { return node.OpSink.Call(t.Context(), c, sink, f) }},
		{"put", func(f node.Report) error { return node.OpPut.CallWith(t.Context(), c, put, strings.NewReader(data), f) }},
		{"serve", func(f node.Report) error {
			return node.OpServe.CallWith(t.Context(), c, serving, strings.NewReader(data), f)
		}},
		{"get", func(f node.Report) error { return node.OpGet.Call(t.Context(), c, get, f) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []node.Step
			err := test.run(func(s node.Step) error {
				s.Payload = bytes.Clone(s.Payload)
				got = append(got, s)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(steps, got, byValue, cmp.Comparer(bytes.Equal)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

func same[T comparable](t *testing.T, want, got T) {
	t.Helper()
	if want != got {
		t.Errorf("request %+v, want %+v", got, want)
	}
}

func TestClientThatGoesEndsItsOperation(t *testing.T) {
	ended := make(chan error, 1)
	d := serve(t, Config{Routes: (&fakeNode{sink: func(ctx context.Context, _ node.SinkRequest, report node.Report) error {
		if err := report(node.Step{Ready: true}); err != nil {
			return err
		}
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}}).routes()})
	stop := errors.New("seen enough")
	err := node.OpSink.Call(t.Context(), NewClient(d.path), node.SinkRequest{}, func(node.Step) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("client: %v", err)
	}
	if err := wait(t, ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the node's operation ended with %v", err)
	}
}

func TestBrokenUploadIsNotItsEnd(t *testing.T) {
	ended := make(chan error, 1)
	d := serve(t, Config{Routes: (&fakeNode{put: func(_ context.Context, _ node.PutRequest, data io.Reader, _ node.Report) error {
		_, err := io.ReadAll(data)
		ended <- err
		return err
	}}).routes()})
	broken := errors.New("disk on fire")
	data := io.MultiReader(strings.NewReader("some data"), iotest.ErrReader(broken))
	err := node.OpPut.CallWith(t.Context(), NewClient(d.path), node.PutRequest{}, data, func(node.Step) error { return nil })
	if err == nil {
		t.Error("the client reports a success")
	}
	if err := wait(t, ended); err == nil {
		t.Error("the node took half of the data for all")
	}
}

func TestShutdownEndsOperations(t *testing.T) {
	ready := make(chan bool, 1)
	d := serve(t, Config{Routes: (&fakeNode{sink: func(ctx context.Context, _ node.SinkRequest, report node.Report) error {
		if err := report(node.Step{Ready: true}); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}}).routes()})
	ended := make(chan error, 1)
	go func() {
		ended <- node.OpSink.Call(context.Background(), NewClient(d.path), node.SinkRequest{}, func(node.Step) error { ready <- true; return nil })
	}()
	wait(t, ready)
	d.end(t)
	if err := wait(t, ended); err == nil || err.Error() != ErrShutdown.Error() {
		t.Errorf("client: %v, want %v", err, ErrShutdown)
	}
	if _, err := node.OpStatus.Call(t.Context(), NewClient(d.path), None{}); cli.HintOf(err) != "is lnetd running? see --socket" {
		t.Errorf("after the end: %v, hint %q", err, cli.HintOf(err))
	}
}

func TestCommandsDoNotWaitForEachOther(t *testing.T) {
	together := make(chan bool)
	d := serve(t, Config{Routes: (&fakeNode{
		ping: func(ctx context.Context, r node.PingRequest) (node.PingReply, error) {
			select { // each of the two pings ends only after the other one has begun, so they must run at the same time
			case together <- true:
			case <-together:
			case <-ctx.Done():
				return node.PingReply{}, ctx.Err()
			}
			return node.PingReply{Primary: r.Target.NID}, nil
		},
	}).routes()})
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := node.OpPing.Call(context.Background(), NewClient(d.path), node.PingRequest{Target: target})
			ended <- err
		}()
	}
	for range 2 {
		if err := wait(t, ended); err != nil {
			t.Error(err)
		}
	}
}

// TestServeEndsInTime: OP-93: an operation that ignores its context delays the end of Serve only for a
// limited time, and the log names the operation.
func TestServeEndsInTime(t *testing.T) {
	spec.Covers(t, "OP-93")
	begun, stuck, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	op := Question[None, string]{Path: "/v1/stuck", Doc: "does not answer"}
	answer := Told(func() string {
		defer close(ended)
		close(begun)
		<-stuck
		return ""
	})
	var log bytes.Buffer
	d := serve(t, Config{Routes: []Route{op.Do(answer)}, EndTimeout: 10 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil))})
	c := d.dial(t)
	if _, err := io.WriteString(c, "GET /v1/stuck HTTP/1.1\r\nHost: lnetd\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-begun
	d.end(t)
	if !strings.Contains(log.String(), "GET /v1/stuck") {
		t.Errorf("log %q does not name the operation", &log)
	}
	close(stuck)
	<-ended
}
