package traces_test

import (
	"fmt"

	"github.com/errand-acp/errand/internal/traces"
)

func ExampleParse() {
	frames, err := traces.Parse(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/"}}
{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}
{"jsonrpc":`)
	for _, f := range frames {
		fmt.Printf("%q %s%s\n", f.Method, f.Params, f.Result)
	}
	fmt.Println(err)
	// Output:
	// "session/new" {"cwd":"/"}
	// "" {"outcome":{"outcome":"cancelled"}}
	// the agent read "{\"jsonrpc\":": unexpected end of JSON input
}
