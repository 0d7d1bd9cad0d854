package machine_test

import (
	"fmt"
	"time"

	"ulnet/lnet/machine"
)

// keepalive asks for a probe after a second of silence.
type keepalive struct{ heard time.Duration }

type heard bool // true: a message was heard; false: the timer

const silence = time.Second

func (k *keepalive) Step(now time.Duration, in heard, out *[]string) time.Duration {
	switch {
	case bool(in):
		k.heard = now
	case now >= k.heard+silence:
		*out = append(*out, "probe")
		k.heard = now
	}
	return k.heard + silence
}

// The shell of a machine owns the clock: here it is a variable.
func ExampleMachine() {
	var m machine.Machine[heard, []string] = &keepalive{}
	var out []string
	now := 700 * time.Millisecond
	wake := m.Step(now, true, &out)
	fmt.Println(out, "wake at", wake)
	now = wake
	wake = m.Step(now, false, &out)
	fmt.Println(out, "wake at", wake)
	// Output:
	// [] wake at 1.7s
	// [probe] wake at 2.7s
}

// A Runner is the shell for real clocks: the goroutine that brings an input applies its
// effects, and timers do the rest.
func ExampleRunner() {
	probed := make(chan struct{})
	r := machine.NewRunner(machine.Config[heard, []string]{
		Machine: &keepalive{},
		Clock:   machine.BootClock(),
		Apply: func(out *[]string) {
			for _, effect := range *out {
				fmt.Println(effect)
				close(probed)
			}
		},
	})
	r.Do(true)
	<-probed // happens a second later
	r.Close()
	r.Do(true) // no effect: the runner is closed
	fmt.Println(r.Stats().Steps, "steps")
	// Output:
	// probe
	// 2 steps
}
