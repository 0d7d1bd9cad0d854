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
	"ulnet/cmd/internal/modules/rmcast"
	"ulnet/lnet/nid"
)

// fakeMcast answers what it is asked with itself, and notes it.
type fakeMcast struct {
	said []string
	err  error
}

func (f *fakeMcast) McastStatus() (rmcast.McastStatus, error) {
	return rmcast.McastStatus{NID: target.NID, Groups: []rmcast.McastGroupStatus{{Name: "news", Number: 7, Waits: []rmcast.McastWait{{Seq: 9}}}}}, f.err
}

func (f *fakeMcast) McastJoin(r rmcast.McastJoin) error {
	f.said = append(f.said, "join "+r.Group)
	return f.err
}

func (f *fakeMcast) McastLeave(r rmcast.McastJoin) error {
	f.said = append(f.said, "leave "+r.Group)
	return f.err
}

func (f *fakeMcast) McastExpel(r rmcast.McastExpel) error {
	f.said = append(f.said, "expel from "+r.Group)
	return f.err
}

func (f *fakeMcast) SetMcastFaults(r rmcast.McastFaults) error {
	f.said = append(f.said, "faults of "+r.Group)
	return f.err
}

func (f *fakeMcast) McastSend(_ context.Context, r rmcast.McastSend, body io.Reader) (rmcast.McastSent, error) {
	data, err := io.ReadAll(body)
	f.said = append(f.said, "send "+r.Group+" "+string(data))
	return rmcast.McastSent{Messages: 3, Version: "5.1"}, errors.Join(err, f.err)
}

func (f *fakeMcast) McastReceive(_ context.Context, r rmcast.McastReceive, report func(rmcast.Step) error) error {
	if f.err != nil {
		return f.err
	}
	if err := report(rmcast.Step{Ready: true}); err != nil {
		return err
	}
	return report(rmcast.Step{Mcast: []rmcast.McastHeard{{Origin: target.NID, Seq: 1, Length: 5}, {Seq: 2, Length: 2}}, Payload: []byte("hello" + r.Group[:2])})
}

func (f *fakeMcast) BenchMcast(_ context.Context, r rmcast.McastBenchRequest, report func(rmcast.Step) error) error {
	if f.err != nil {
		return f.err
	}
	return report(rmcast.Step{Counts: &rmcast.McastBench{Group: r.Group, Messages: r.Count, Final: true}})
}

func (f *fakeMcast) routes() []Route {
	return []Route{
		rmcast.OpMcastStatus.Do(Ask(f.McastStatus)), rmcast.OpMcastJoin.Do(Act(f.McastJoin)), rmcast.OpMcastLeave.Do(Act(f.McastLeave)),
		rmcast.OpMcastExpel.Do(Act(f.McastExpel)), rmcast.OpMcastFaults.Do(Act(f.SetMcastFaults)), rmcast.OpMcastSend.DoWith(f.McastSend),
		rmcast.OpMcastReceive.Do(f.McastReceive), rmcast.OpMcastBench.Do(f.BenchMcast),
	}
}

// TestMcast: RM-24, RM-31: what commands ask for arrives, and answers with payload come
// back whole.
func TestMcast(t *testing.T) {
	f := &fakeMcast{}
	c := NewClient(serve(t, Config{Routes: f.routes()}).path)
	ctx := t.Context()
	if s, err := rmcast.OpMcastStatus.Call(ctx, c, None{}); err != nil || s.Groups[0].Name != "news" || s.Groups[0].Waits[0].Seq != 9 {
		t.Errorf("%+v, %v", s, err)
	}
	for i, err := range []error{
		rmcast.OpMcastJoin.Call(ctx, c, rmcast.McastJoin{Group: "a"}), rmcast.OpMcastLeave.Call(ctx, c, rmcast.McastJoin{Group: "b"}), rmcast.OpMcastFaults.Call(ctx, c, rmcast.McastFaults{Group: "c"}),
		rmcast.OpMcastExpel.Call(ctx, c, rmcast.McastExpel{Group: "f", NID: nid.MustParse("10.0.0.9@tcp")}),
	} {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	if sent, err := rmcast.OpMcastSend.CallWith(ctx, c, rmcast.McastSend{Group: "d", Lines: true}, strings.NewReader("x\ny\n")); err != nil || sent.Messages != 3 {
		t.Errorf("%+v, %v", sent, err)
	}
	var heard []string
	err := rmcast.OpMcastReceive.Call(ctx, c, rmcast.McastReceive{Group: "news"}, func(s rmcast.Step) error {
		if len(s.Mcast) > 0 {
			heard = append(heard, s.Mcast[0].Origin.String(), string(s.Payload))
		}
		return nil
	})
	if diff := cmp.Diff([]string{target.NID.String(), "hellone"}, heard); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	measured := 0
	err = rmcast.OpMcastBench.Call(ctx, c, rmcast.McastBenchRequest{Group: "e", Count: 5}, func(s rmcast.Step) error {
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
	none := func(rmcast.Step) error { return nil }
	_, status := rmcast.OpMcastStatus.Call(ctx, c, None{})
	_, send := rmcast.OpMcastSend.CallWith(ctx, c, rmcast.McastSend{}, nil)
	for i, err := range []error{
		status, send, rmcast.OpMcastJoin.Call(ctx, c, rmcast.McastJoin{}), rmcast.OpMcastLeave.Call(ctx, c, rmcast.McastJoin{}), rmcast.OpMcastFaults.Call(ctx, c, rmcast.McastFaults{}),
		rmcast.OpMcastExpel.Call(ctx, c, rmcast.McastExpel{NID: nid.MustParse("10.0.0.9@tcp")}),
		rmcast.OpMcastReceive.Call(ctx, c, rmcast.McastReceive{}, none), rmcast.OpMcastBench.Call(ctx, c, rmcast.McastBenchRequest{}, none),
	} {
		if !errors.Is(err, syscall.ESRCH) || cli.HintOf(err) != "enable it" {
			t.Errorf("%d: %v with hint %q", i, err, cli.HintOf(err))
		}
	}
}
