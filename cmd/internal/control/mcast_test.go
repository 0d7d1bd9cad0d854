package control

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
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

func (f *fakeMcast) McastJoin(_ context.Context, r node.McastJoin) (node.McastJoin, error) {
	f.said = append(f.said, "join "+r.Group)
	return r, f.err
}

func (f *fakeMcast) McastLeave(_ context.Context, r node.McastJoin) (node.McastJoin, error) {
	f.said = append(f.said, "leave "+r.Group)
	return r, f.err
}

func (f *fakeMcast) McastExpel(_ context.Context, r node.McastExpel) (node.McastExpel, error) {
	f.said = append(f.said, "expel from "+r.Group)
	return r, f.err
}

func (f *fakeMcast) SetMcastFaults(_ context.Context, r node.McastFaults) (node.McastFaults, error) {
	f.said = append(f.said, "faults of "+r.Group)
	return r, f.err
}

func (f *fakeMcast) McastSend(_ context.Context, r node.McastSend, body io.Reader) (node.McastSent, error) {
	data, err := io.ReadAll(body)
	f.said = append(f.said, "send "+r.Group+" "+string(data))
	return node.McastSent{Messages: 3, Version: "5.1"}, errors.Join(err, f.err)
}

func (f *fakeMcast) McastReceive(_ context.Context, r node.McastReceive, report node.Report) error {
	if f.err != nil {
		return f.err
	}
	if err := report(node.Step{Ready: true}); err != nil {
		return err
	}
	return report(node.Step{Mcast: []node.McastHeard{{Origin: target.NID, Seq: 1, Length: 5}, {Seq: 2, Length: 2}}, Payload: []byte("hello" + r.Group[:2])})
}

func (f *fakeMcast) BenchMcast(_ context.Context, r node.McastBenchRequest, report node.Report) error {
	if f.err != nil {
		return f.err
	}
	return report(node.Step{Counts: &node.McastBench{Group: r.Group, Messages: r.Count, Final: true}})
}

// TestMcast: RM-24, RM-31: what commands ask for arrives, and answers with payload come
// back whole.
func TestMcast(t *testing.T) {
	f := &fakeMcast{}
	c := NewClient(serve(t, Config{Node: &fakeNode{Mcast: f}}).path)
	ctx := t.Context()
	if s, err := c.McastStatus(ctx); err != nil || s.Groups[0].Name != "news" || s.Groups[0].Waits[0].Seq != 9 {
		t.Errorf("%+v, %v", s, err)
	}
	for i, err := range []error{
		c.McastJoin(ctx, node.McastJoin{Group: "a"}), c.McastLeave(ctx, node.McastJoin{Group: "b"}), c.SetMcastFaults(ctx, node.McastFaults{Group: "c"}),
		c.McastExpel(ctx, node.McastExpel{Group: "f", NID: nid.MustParse("10.0.0.9@tcp")}),
	} {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	if sent, err := c.McastSend(ctx, node.McastSend{Group: "d", Lines: true}, strings.NewReader("x\ny\n")); err != nil || sent.Messages != 3 {
		t.Errorf("%+v, %v", sent, err)
	}
	var heard []string
	err := c.McastReceive(ctx, node.McastReceive{Group: "news"}, func(s node.Step) error {
		if len(s.Mcast) > 0 {
			heard = append(heard, s.Mcast[0].Origin.String(), string(s.Payload))
		}
		return nil
	})
	if diff := cmp.Diff([]string{target.NID.String(), "hellone"}, heard); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	measured := 0
	err = c.BenchMcast(ctx, node.McastBenchRequest{Group: "e", Count: 5}, func(s node.Step) error {
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
	c := NewClient(serve(t, Config{Node: &fakeNode{Mcast: &fakeMcast{err: cli.Hint(syscall.ESRCH, "enable it")}}}).path)
	ctx := t.Context()
	none := func(node.Step) error { return nil }
	_, status := c.McastStatus(ctx)
	_, send := c.McastSend(ctx, node.McastSend{}, nil)
	for i, err := range []error{
		status, send, c.McastJoin(ctx, node.McastJoin{}), c.McastLeave(ctx, node.McastJoin{}), c.SetMcastFaults(ctx, node.McastFaults{}),
		c.McastExpel(ctx, node.McastExpel{NID: nid.MustParse("10.0.0.9@tcp")}),
		c.McastReceive(ctx, node.McastReceive{}, none), c.BenchMcast(ctx, node.McastBenchRequest{}, none),
	} {
		if !errors.Is(err, syscall.ESRCH) || cli.HintOf(err) != "enable it" {
			t.Errorf("%d: %v with hint %q", i, err, cli.HintOf(err))
		}
	}
}
