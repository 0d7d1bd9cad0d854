package zone

import (
	"log/slog"
	"time"
)

// Bounds of the lines about members in the log: in a zone without a key, any host can have nodes join and
// leave, as fast as messages travel. Lines of each kind have a bound of their own, so that strangers that say
// goodbye do not hide members that die. A zone of some thousand members can be restarted as a whole in an hour
// without loss of a line (local policy).
const (
	maxMemberLines  = 8 << 10   // bound of the lines of one kind that are logged in one hour
	memberLinesLast = time.Hour // after this time the count of lines begins again
	memberTrickle   = 10 * time.Second
)

// lineKind is a kind of log lines about members: those that joined, or those that left for a cause.
type lineKind struct {
	event EventKind
	cause Cause
}

// memberLines counts the log lines of a kind about members.
type memberLines struct {
	began  time.Duration // when the present hour began
	latest time.Duration // when the latest line was logged
	said   int           // number of lines in the present hour
	unsaid uint64        // number of lines that were not logged since the latest one
}

// next counts a line, and reports whether it is logged. Above the bound, one line is logged every ten seconds.
// The attribute more is the number of lines that were not logged since the last logged one, or empty if there
// are none.
func (l *memberLines) next(now time.Duration) (more slog.Attr, logged bool) {
	if l.said == 0 || now-l.began >= memberLinesLast {
		l.began, l.said = now, 0
	}
	if l.said >= maxMemberLines && now-l.latest < memberTrickle {
		l.unsaid++
		return more, false
	}
	if l.unsaid > 0 {
		more = slog.Uint64("unsaid", l.unsaid)
	}
	l.latest, l.unsaid = now, 0
	l.said++
	return more, true
}

// logMember logs that a member joined or left.
func (a *Agent) logMember(e *Event) {
	kind := lineKind{e.Kind, e.Cause}
	if a.lines == nil {
		a.lines = make(map[lineKind]*memberLines)
	}
	if a.lines[kind] == nil {
		a.lines[kind] = new(memberLines)
	}
	switch more, logged := a.lines[kind].next(a.clock.Now()); {
	case !logged:
	case e.Kind == Joined:
		a.log.Info("node joined the zone", slog.String("node", e.ID.Name()), slog.Any("version", e.Version), more)
	default:
		a.log.Info("node left the zone", slog.String("node", e.ID.Name()), slog.String("cause", e.Cause.String()), slog.Int("code", int(e.Code)), more)
	}
}
