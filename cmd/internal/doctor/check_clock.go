package doctor

import (
	"fmt"
	"strings"
	"time"
)

// Bounds of the check of clocks. An error of the time of day of up to a second does no harm to
// incarnations, keys and time stamps.
const (
	stepBound  = time.Second
	errorBound = time.Second
)

// clock looks at the time of day.
func (e *exam) clock() {
	now, err := e.host.Clock()
	if err != nil {
		e.unknown("", "see 'timedatectl'", "%v", err)
		return
	}
	e.clocks[1] = now
	const sync = "run chronyd, ntpd or systemd-timesyncd; 'timedatectl' shows the state"
	switch {
	case !now.Synchronized:
		e.warn("", sync, "nothing keeps the clock right")
	case now.MaxError > errorBound:
		e.warn("", sync, "the error of the clock may be %v", now.MaxError)
	default:
		e.ok("", "synchronized, the error is %v at most", now.MaxError)
	}
	if step := now.ahead(e.clocks[0]); step.Abs() > stepBound/10 && !e.clocks[0].Wall.IsZero() {
		e.warn("", "see what sets the clock: two programs at a time, or the host of a virtual machine", "the clock jumped by %v just now", step)
	}
	if e.up {
		e.steps(e.asked)
	}
	e.skew()
}

// steps finds out whether the time of day was set since lnetd began. The incarnation is the time of day
// when lnetd began. steps compares the time of day minus the incarnation with the time that lnetd's own
// clock has counted. The argument now has the clocks of the host when lnetd reported its status.
func (e *exam) steps(now Clock) {
	began := time.Unix(0, int64(e.status.Incarnation))
	step := now.Wall.Sub(began) - e.status.Clock
	suspended := now.Boot - now.Monotonic
	switch {
	case step.Abs() <= stepBound:
		e.ok("", "was not set since lnetd began")
	case step > 0 && step <= suspended+stepBound:
		e.ok("", "was not set since lnetd began; the host was suspended for %v", step.Round(time.Second))
	case step < 0:
		e.warn("", "restart lnetd once the clock is right: peers refuse an incarnation that is far ahead", "lnetd began %v after what the clock says now: it was put back, or was ahead at an earlier start", -step.Round(time.Second))
	default:
		e.warn("", "if this goes on, see what sets the clock", "the clock was set forward by %v since lnetd began", step.Round(time.Second))
	}
}

// skew compares the clocks of the members of a group.
func (e *exam) skew() {
	members, ok := e.members()
	if !ok {
		return
	}
	members = e.reported(members, func(m *Member) bool { return m.Timed }, "clock", "see 'scollctl skew'")
	if len(members) == 0 {
		return
	}
	var wrong []string
	for _, m := range members {
		if m.Offset.Abs() > stepBound+m.Bound {
			wrong = append(wrong, fmt.Sprintf("%v by %v", m.NID, m.Offset.Round(time.Millisecond)))
		}
	}
	if len(wrong) > 0 {
		e.warn(e.group(), "synchronize the clocks of all of them", "clocks differ from this one: %s", few(wrong))
		return
	}
	e.ok(e.group(), "%d clocks within %v", len(members), stepBound)
}

// few joins the first words of a list.
func few(list []string) string {
	const most = 8
	if n := len(list); n > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), n-most)
	}
	return strings.Join(list, ", ")
}
