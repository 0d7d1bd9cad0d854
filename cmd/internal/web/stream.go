package web

import (
	"net/http"
	"time"
)

// eventTimeout is the time in which a client must receive an event of a stream.
const eventTimeout = 10 * time.Second

// SendEvent sends a JSON text as a server-sent event, or without one a comment, which shows that the
// connection works. It reports whether the client can have received it; a client that does not read
// for 10 s has not.
func SendEvent(w http.ResponseWriter, text []byte) bool {
	c := http.NewResponseController(w)
	if c.SetWriteDeadline(time.Now().Add(eventTimeout)) != nil {
		return false
	}
	event := []byte(":\n\n")
	if text != nil {
		event = append(append([]byte("data: "), text...), "\n\n"...)
	}
	_, err := w.Write(event)
	return err == nil && c.Flush() == nil
}
