using var client = new HttpClient();
var answer = await client.PostAsync("http://127.0.0.1:8080/api/inbox.asmx/Unread", new FormUrlEncodedContent([
    new("user_id", "3f0d9c1e-6b1a-4a63-9b57-2f5f0a7d1c11"),
    new("max_count", "20"),
]));
Console.WriteLine(await answer.Content.ReadAsStringAsync());
