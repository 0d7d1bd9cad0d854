package page

import (
	"net/http"
	"time"
)

// serveEvents sends the state, and then what has changed, as server-sent events. A browser that
// reads slowly gets fewer messages, each with all that has changed since its last one; nothing is
// queued for it. One that does not read for streamTimeout is disconnected.
func (p *Page) serveEvents(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return
	}
	select {
	case p.streams <- struct{}{}:
		defer func() { <-p.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many browsers follow this page: close some", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(p.interval)
	defer tick.Stop()
	for seen := uint64(0); ; {
		message, version, _ := p.since(seen) // the script notices that a node is stuck: nothing comes
		if seen = version; !send(w, message) {
			return
		}
		select {
		case <-tick.C:
		case <-p.done:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// send sends a message, or without one a comment, which shows that the connection works. It
// reports whether the client can have received it.
func send(w http.ResponseWriter, message []byte) bool {
	c := http.NewResponseController(w)
	if c.SetWriteDeadline(time.Now().Add(streamTimeout)) != nil {
		return false
	}
	text := []byte(":\n\n")
	if message != nil {
		text = append(append([]byte("data: "), message...), "\n\n"...)
	}
	_, err := w.Write(text)
	return err == nil && c.Flush() == nil
}
