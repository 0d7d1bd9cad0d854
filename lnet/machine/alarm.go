package machine

import "time"

// Alarm is one timer that is set again and again: by the method Reset of the clock's timer, if it has one, else
// by a new timer. So a Clock that changes what another one does returns timers without Reset. Clock and Call are required; the zero value of the rest is
// not set. Its owner serializes the calls of its methods. Call may run once more after Set or Stop, if it had
// begun before.
type Alarm struct {
	Clock Clock  // the clock of now and at in Set
	Call  func() // what Clock calls when the time has come

	timer Timer // nil: none was made yet
}

// Set sets the alarm to the instant at, in place of the one that it was set to before; Never: it is not set.
// now is the present time.
func (a *Alarm) Set(now, at time.Duration) {
	if at == Never {
		a.Stop()
		return
	}
	d := max(at-now, 0)
	if t, ok := a.timer.(interface{ Reset(time.Duration) bool }); ok {
		t.Reset(d) // Reset needs no new memory, unlike AfterFunc
		return
	}
	a.Stop()
	a.timer = a.Clock.AfterFunc(d, a.Call)
}

// Stop makes the alarm not set.
func (a *Alarm) Stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}
