package control

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"syscall"

	"ulnet/cmd/internal/cli"
)

// Error is a failure in the form in which it is sent over the socket. It unwraps to its errno.
type Error struct {
	Message string        `json:"message"`         // description of the error in one line
	Hint    string        `json:"hint,omitempty"`  // what the user can do next
	Errno   syscall.Errno `json:"errno,omitempty"` // error number of Linux; 0: there is none
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the errno, or nil.
func (e *Error) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// deniedText is the message to a client that may not send a request.
const deniedText = "permission denied"

// Denied reports whether err means that this user may not open the control socket, or not send the
// request.
func Denied(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Errno == 0 && e.Message == deniedText || !ok && errors.Is(err, os.ErrPermission)
}

// FromNode reports whether err was returned by the daemon's node, with an errno. Other
// errors are failures on the way to it.
func FromNode(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Errno != 0
}

func newError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	e := &Error{Message: err.Error(), Hint: cli.HintOf(err)}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		e.Errno = errno
	}
	return e
}

// errorBody is the body of an answer that is not 200.
type errorBody struct {
	Error *Error `json:"error"`
}

// refusal is an error with an HTTP status.
type refusal struct {
	status int
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// fail answers with an error. An error without an HTTP status is a command that did not
// succeed (422).
func (s *Server) fail(w http.ResponseWriter, err error) {
	status := http.StatusUnprocessableEntity
	if r, ok := errors.AsType[*refusal](err); ok {
		status = r.status
	}
	s.writeNow(w)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(errorJSON(err)) // fails if the client has closed the connection
}

// errorJSON returns the body of an error answer.
func errorJSON(err error) []byte {
	body, _ := json.Marshal(errorBody{newError(err)}) // cannot fail: the value has only texts and a number
	return append(body, '\n')
}
