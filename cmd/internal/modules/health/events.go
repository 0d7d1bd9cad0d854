package health

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/health"
	"ulnet/lnet/nid"
)

// keptEvents is the capacity of the queue of events; if it is full, further events are dropped
// and counted.
const keptEvents = 4096

// events writes events of client health to the log, and so to the listeners on the control socket.
// Reporting an event never waits for the log.
type events struct {
	log    *slog.Logger
	tell   func(*Event) // called with each event before it is queued
	queue  chan Event
	worker sync.WaitGroup

	mu     sync.Mutex
	missed uint64 // events dropped since the latest one in the queue; guarded by mu, like all below
	closed bool   // further events are dropped
}

// startEvents starts a goroutine that writes events until close. The function tell is called
// with each event, in the goroutine that reports the event.
func startEvents(log *slog.Logger, tell func(*Event)) *events {
	e := &events{log: log, tell: tell, queue: make(chan Event, keptEvents)}
	e.worker.Go(e.write)
	return e
}

// close writes the queued events. Events that are reported later are dropped.
func (e *events) close() {
	e.mu.Lock()
	e.closed = true
	close(e.queue)
	e.mu.Unlock()
	e.worker.Wait()
}

func (e *events) report(event Event) {
	event.Source, event.Msg, event.Time = config.HealthSource, EventMessage, time.Now().Round(0)
	e.tell(&event)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	event.Missed = e.missed
	select {
	case e.queue <- event:
		e.missed = 0
	default:
		e.missed++
	}
}

// tail returns an event that only reports how many events were dropped after the latest one, if
// any were.
func (e *events) tail() (event Event, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) > 0 || e.missed == 0 {
		return event, false
	}
	event = Event{Time: time.Now(), Missed: e.missed}
	e.missed = 0
	return event, true
}

// ofServer reports an event of the server role.
func (e *events) ofServer(ev health.Event) {
	event := Event{
		Role: "server", Event: ev.Kind.String(), Name: ev.Name, Incarnation: ev.Incarnation, Epoch: ev.Epoch, Master: textOf(ev.Master),
	}
	if ev.Client.IsValid() {
		event.Client = ev.Client.String()
	}
	if ev.Peer.NID.IsValid() {
		event.Peer = ev.Peer.String()
	}
	if ev.Kind == health.ClientSuspended || ev.Kind == health.ClientEvicted {
		event.Cause = ev.Cause.String()
	}
	e.report(event)
}

// ofClient reports an event of the client role.
func (e *events) ofClient(ev health.ClientEvent) {
	event := Event{Role: "client", Event: ev.Kind.String(), Incarnation: ev.Incarnation, Epoch: ev.Epoch, Server: textOf(ev.Server), Peer: textOf(ev.Peer)}
	if ev.Code != health.OK {
		event.Code = ev.Code.String()
	}
	e.report(event)
}

// textOf returns the text of a NID, or "" for the zero NID.
func textOf(id nid.NID) string {
	if !id.IsValid() {
		return ""
	}
	return id.String()
}

// write writes events to the log until close is called.
func (e *events) write() {
	for event := range e.queue {
		e.line(&event)
		if event, ok := e.tail(); ok {
			e.line(&event)
		}
	}
}

func (e *events) line(event *Event) {
	if h := e.log.Handler(); h.Enabled(context.Background(), slog.LevelInfo) {
		r := slog.NewRecord(event.Time, slog.LevelInfo, EventMessage, 0) // the record has the time of the event
		r.AddAttrs(event.attrs()...)
		_ = h.Handle(context.Background(), r) // a failure of the log cannot be logged
	}
}

// attrs returns the fields of the event that are set.
func (e *Event) attrs() (list []slog.Attr) {
	for _, a := range []slog.Attr{
		slog.String("role", e.Role), slog.String("event", e.Event), slog.String("client", e.Client), slog.String("name", e.Name),
		slog.Uint64("incarnation", e.Incarnation), slog.Uint64("epoch", uint64(e.Epoch)), slog.String("cause", e.Cause),
		slog.String("master", e.Master), slog.String("peer", e.Peer), slog.String("server", e.Server), slog.String("code", e.Code),
		slog.Uint64("missed", e.Missed),
	} {
		if !a.Value.Equal(slog.StringValue("")) && !a.Value.Equal(slog.Uint64Value(0)) {
			list = append(list, a)
		}
	}
	return list
}

// eventName returns the name of the event, by which event handlers select it.
func (e *Event) eventName() string {
	name := config.HealthSource + "." + e.Event
	if e.Cause != "" {
		name += "." + e.Cause
	}
	return name
}
