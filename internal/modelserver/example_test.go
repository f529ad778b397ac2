package modelserver_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"

	"github.com/errand-acp/errand/internal/modelserver"
)

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	server, err := modelserver.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	question := `{"messages":[{"role":"user","content":"Hello"}]}`
	request, err := http.NewRequest(http.MethodPost, server.URL()+"/v1/chat/completions", strings.NewReader(question))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+modelserver.Key)
	response, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	fmt.Println(strings.Contains(string(answer), modelserver.Text), err)
	// Output: true <nil>
}
