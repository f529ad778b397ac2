package wire_test

import (
	"context"
	"fmt"
	"io"

	"github.com/errand-acp/errand/internal/wire"
)

// adder serves one method and hears nothing else.
type adder struct{}

func (adder) Classify(method string) wire.Class               { return wire.ClassRequest }
func (adder) Parse(string, *wire.Scan) any                    { return nil }
func (adder) Notification(string, []byte, any) (deferred any) { return nil }
func (adder) Run(context.Context, any)                        {}
func (adder) Receive(*wire.Request)                           {}
func (adder) Serve(r *wire.Request) (result any, err error)   { return len(r.Params), nil }

// Two peers in one process: each end of the pair is a reader and a writer.
func Example() {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	server := wire.New(r1, w2, adder{}, nil)
	server.Listen()
	client := wire.New(r2, w1, adder{}, nil)
	client.Listen()

	result, err := client.Call(context.Background(), "length", []int{1, 2, 3}, nil)
	fmt.Println(string(result), err)

	w1.Close()
	<-server.Done()
	w2.Close()
	<-client.Done()
	// Output: 7 <nil>
}
