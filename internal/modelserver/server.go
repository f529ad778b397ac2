package modelserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Key is the API key that the server takes.
const Key = "errand-model-server-key"

// Model is the one model that the server lists; it answers for any other too.
const Model = "errand-test-model"

// Server is a running model server. Its methods are safe from any goroutine.
type Server struct {
	url  string
	done chan struct{}

	mu   sync.Mutex // guards what follows
	seen []Request
}

// Request is what a client has asked, as far as the answer depends on it.
type Request struct {
	// Path is the URL's path.
	Path string
	// Prompt is the text of the last user message.
	Prompt string
	// Result is the text of the tool's result that ends the conversation, "" for none.
	Result string
	// Tools are the names of the tools on offer.
	Tools []string
	// Called is the tool that the answer calls, "" for none.
	Called string
	// Status is the HTTP status of the answer.
	Status int
}

// Start serves on a free port of 127.0.0.1 until ctx ends. Then connections are cut, in
// the middle of an answer too; [Server.Done] tells when.
func Start(ctx context.Context) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("modelserver: %w", err)
	}
	s := &Server{url: "http://" + listener.Addr().String(), done: make(chan struct{})}
	// Answers end with ctx, which is that of their requests.
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	var serving sync.WaitGroup
	// Ends when the listener is closed below.
	serving.Go(func() { _ = server.Serve(listener) })
	// Ends with ctx; who does not take an answer, or has not asked yet, is waited for a second.
	go func() {
		defer close(s.done)
		defer serving.Wait()
		<-ctx.Done()
		patience, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(patience) != nil {
			_ = server.Close()
		}
	}()
	return s, nil
}

// URL is where the server is, without a path: http://127.0.0.1:PORT.
func (s *Server) URL() string { return s.url }

// Done is closed when the server has ended, and what it has started.
func (s *Server) Done() <-chan struct{} { return s.done }

// Requests returns what has been asked of a model so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// dialect is one API: how a question is read and an answer is written.
type dialect interface {
	// read returns the question, and whether the answer is to be streamed.
	read(r *http.Request, body []byte) (question, bool, error)
	// fail is the body of an answer with an error.
	fail(status int, message string) any
	// whole is the body of an answer that is not streamed.
	whole(a answer) any
	// stream writes the answer as events.
	stream(e *events, a answer)
}

// dialectOf returns the API that the path belongs to, nil for none.
func dialectOf(path string) dialect {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/messages"):
		return messages{}
	case strings.HasSuffix(path, ":generateContent"), strings.HasSuffix(path, ":streamGenerateContent"):
		return gemini{}
	}
	return nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d := dialectOf(r.URL.Path)
	if d == nil {
		s.other(w, r)
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, d.fail(http.StatusBadRequest, err.Error()))
		return
	}
	q, streamed, err := d.read(r, body)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, d.fail(http.StatusBadRequest, err.Error()))
		return
	}
	a := answerTo(q)
	if keyOf(r) != Key {
		a = answer{status: http.StatusUnauthorized, message: "the API key is not valid"}
	}
	a.number = s.note(r.URL.Path, q, a)
	switch {
	case a.status != http.StatusOK:
		writeJSON(w, a.status, d.fail(a.status, a.message))
	case streamed:
		d.stream(startEvents(w, r), a)
	default:
		if !pause(r.Context(), a.whole()) {
			return
		}
		writeJSON(w, http.StatusOK, d.whole(a))
	}
}

// note remembers a question and its answer, and returns how many there are.
func (s *Server) note(path string, q question, a answer) int {
	request := Request{Path: path, Prompt: q.prompt, Result: q.result, Status: a.status}
	for _, t := range q.tools {
		request.Tools = append(request.Tools, t.name)
	}
	if a.call != nil {
		request.Called = a.call.tool
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, request)
	return len(s.seen)
}

// other answers what agents ask beside the model's answers.
func (s *Server) other(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/models"):
		writeJSON(w, http.StatusOK, map[string]any{
			"object": "list",
			"data":   []any{map[string]any{"id": Model, "object": "model", "created": 0, "owned_by": "errand"}},
		})
	case strings.HasSuffix(path, ":countTokens"):
		writeJSON(w, http.StatusOK, map[string]any{"totalTokens": tokens})
	case strings.HasSuffix(path, "/count_tokens"):
		writeJSON(w, http.StatusOK, map[string]any{"input_tokens": tokens})
	default:
		writeJSON(w, http.StatusNotFound, map[string]any{"error": map[string]any{"message": "no such path: " + path}})
	}
}

// keyOf returns the key of a request, wherever the APIs have it.
func keyOf(r *http.Request) string {
	for _, key := range []string{
		strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
		r.Header.Get("x-api-key"), r.Header.Get("x-goog-api-key"), r.URL.Query().Get("key"),
	} {
		if key != "" {
			return key
		}
	}
	return ""
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // all of it is made here
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
