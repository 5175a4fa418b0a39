<?php
$client = new SoapClient('http://127.0.0.1:8080/api/inbox.asmx?WSDL');
$answer = $client->Unread([
    'user_id' => '3f0d9c1e-6b1a-4a63-9b57-2f5f0a7d1c11',
    'max_count' => 20,
]);
var_dump($answer->UnreadResult ?? null);
