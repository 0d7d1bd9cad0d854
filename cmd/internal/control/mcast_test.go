package control_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	. "ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

// fakeMcast answers what it is asked with itself, and notes it.
type fakeMcast struct {
	said []string
	err  error
}

func (f *fakeMcast) McastStatus() (node.McastStatus, error) {
	return node.McastStatus{NID: target.NID, Groups: []node.McastGroupStatus{{Name: "news", Number: 7, Waits: []node.McastWait{{Seq: 9}}}}}, f.err
}

func (f *fakeMcast) McastJoin(r node.McastJoin) error {
	f.said = append(f.said, "join "+r.Group)
	return f.err
}

func (f *fakeMcast) McastLeave(r node.McastJoin) error {
	f.said = append(f.said, "leave "+r.Group)
	return f.err
}

func (f *fakeMcast) McastExpel(r node.McastExpel) error {
	f.said = append(f.said, "expel from "+r.Group)
	return f.err
}

func (f *fakeMcast) SetMcastFaults(r node.McastFaults) error {
	f.said = append(f.said, "faults of "+r.Group)
	return f.err
}

func (f *fakeMcast) McastSend(_ context.Context, r node.McastSend, body io.Reader) (node.McastSent, error) {
	data, err := io.ReadAll(body)
	f.said = append(f.said, "send "+r.Group+" "+string(data))
	return node.McastSent{Messages: 3, Version: "5.1"}, errors.Join(err, f.err)
}

func (f *fakeMcast) McastReceive(_ context.Context, r node.McastReceive, report func(node.Step) error) error {
	if f.err != nil {
		return f.err
	}
	if err := report(node.Step{Ready: true}); err != nil {
		return err
	}
	return report(node.Step{Mcast: []node.McastHeard{{Origin: target.NID, Seq: 1, Length: 5}, {Seq: 2, Length: 2}}, Payload: []byte("hello" + r.Group[:2])})
}

func (f *fakeMcast) BenchMcast(_ context.Context, r node.McastBenchRequest, report func(node.Step) error) error {
	if f.err != nil {
		return f.err
	}
	return report(node.Step{Counts: &node.McastBench{Group: r.Group, Messages: r.Count, Final: true}})
}

func (f *fakeMcast) routes() []Route {
	return []Route{
		node.OpMcastStatus.Do(Ask(f.McastStatus)), node.OpMcastJoin.Do(Act(f.McastJoin)), node.OpMcastLeave.Do(Act(f.McastLeave)),
		node.OpMcastExpel.Do(Act(f.McastExpel)), node.OpMcastFaults.Do(Act(f.SetMcastFaults)), node.OpMcastSend.DoWith(f.McastSend),
		node.OpMcastReceive.Do(f.McastReceive), node.OpMcastBench.Do(f.BenchMcast),
	}
}

// TestMcast: RM-24, RM-31: what commands ask for arrives, and answers with payload come
// back whole.
func TestMcast(t *testing.T) {
	f := &fakeMcast{}
	c := NewClient(serve(t, Config{Routes: f.routes()}).path)
	ctx := t.Context()
	if s, err := node.OpMcastStatus.Call(ctx, c, None{}); err != nil || s.Groups[0].Name != "news" || s.Groups[0].Waits[0].Seq != 9 {
		t.Errorf("%+v, %v", s, err)
	}
	for i, err := range []error{
		node.OpMcastJoin.Call(ctx, c, node.McastJoin{Group: "a"}), node.OpMcastLeave.Call(ctx, c, node.McastJoin{Group: "b"}), node.OpMcastFaults.Call(ctx, c, node.McastFaults{Group: "c"}),
		node.OpMcastExpel.Call(ctx, c, node.McastExpel{Group: "f", NID: nid.MustParse("10.0.0.9@tcp")}),
	} {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	if sent, err := node.OpMcastSend.CallWith(ctx, c, node.McastSend{Group: "d", Lines: true}, strings.NewReader("x\ny\n")); err != nil || sent.Messages != 3 {
		t.Errorf("%+v, %v", sent, err)
	}
	var heard []string
	err := node.OpMcastReceive.Call(ctx, c, node.McastReceive{Group: "news"}, func(s node.Step) error {
		if len(s.Mcast) > 0 {
			heard = append(heard, s.Mcast[0].Origin.String(), string(s.Payload))
		}
		return nil
	})
	if diff := cmp.Diff([]string{target.NID.String(), "hellone"}, heard); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	measured := 0
	err = node.OpMcastBench.Call(ctx, c, node.McastBenchRequest{Group: "e", Count: 5}, func(s node.Step) error {
		measured += s.Counts.Messages
		return nil
	})
	if err != nil || measured != 5 {
		t.Errorf("%d, %v", measured, err)
	}
	if diff := cmp.Diff([]string{"join a", "leave b", "faults of c", "expel from f", "send d x\ny\n"}, f.said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMcastErrors(t *testing.T) {
	c := NewClient(serve(t, Config{Routes: (&fakeMcast{err: cli.Hint(syscall.ESRCH, "enable it")}).routes()}).path)
	ctx := t.Context()
	none := func(node.Step) error { return nil }
	_, status := node.OpMcastStatus.Call(ctx, c, None{})
	_, send := node.OpMcastSend.CallWith(ctx, c, node.McastSend{}, nil)
	for i, err := range []error{
		status, send, node.OpMcastJoin.Call(ctx, c, node.McastJoin{}), node.OpMcastLeave.Call(ctx, c, node.McastJoin{}), node.OpMcastFaults.Call(ctx, c, node.McastFaults{}),
		node.OpMcastExpel.Call(ctx, c, node.McastExpel{NID: nid.MustParse("10.0.0.9@tcp")}),
		node.OpMcastReceive.Call(ctx, c, node.McastReceive{}, none), node.OpMcastBench.Call(ctx, c, node.McastBenchRequest{}, none),
	} {
		if !errors.Is(err, syscall.ESRCH) || cli.HintOf(err) != "enable it" {
			t.Errorf("%d: %v with hint %q", i, err, cli.HintOf(err))
		}
	}
}
