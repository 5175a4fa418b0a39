<?php

declare(strict_types=1);

/**
 * Makes calls through PHP's SoapClient and prints what it returned; programs.ts says how both are written.
 * Input: {"address", "version", "calls": [{"group", "operation", "arguments"}]}.
 */

error_reporting(E_ALL);
ini_set('display_errors', 'stderr');

['address' => $address, 'version' => $version, 'calls' => $calls] =
    json_decode(stream_get_contents(STDIN), true, flags: JSON_THROW_ON_ERROR);

$clients = [];
$made = [];
foreach ($calls as ['group' => $group, 'operation' => $operation, 'arguments' => $arguments]) {
    $client = $clients[$group] ??= new SoapClient("$address/api/$group.asmx?WSDL", [
        'soap_version' => $version === 'soap12' ? SOAP_1_2 : SOAP_1_1,
        'cache_wsdl' => WSDL_CACHE_NONE, // it would outlive the service
        'features' => SOAP_SINGLE_ELEMENT_ARRAYS, // without it a list of one is not a list
        'trace' => true, // for __getLastResponse
    ]);
    $made[] = outcome($client, $operation, untagged($arguments));
}
echo json_encode($made, JSON_THROW_ON_ERROR);

function outcome(SoapClient $client, string $operation, array $arguments): array
{
    try {
        $outcome = ['answer' => tagged($client->__soapCall($operation, [$arguments]))];
    } catch (SoapFault $fault) {
        if ($client->__getLastResponse() === null) {
            return ['refused' => $fault->getMessage()];
        }
        $outcome = ['fault' => [
            'code' => $fault->faultcode,
            'text' => $fault->faultstring,
            'detail' => tagged($fault->detail ?? null),
        ]];
    }
    preg_match('~^HTTP/\S+ (\d+)~', $client->__getLastResponseHeaders(), $status);
    return $outcome + ['status' => (int) $status[1], 'xml' => $client->__getLastResponse()];
}

/** A dateTime is a text to PHP's client, in both directions. */
function untagged(mixed $value): mixed
{
    if (!is_array($value)) {
        return $value;
    }
    if (isset($value['$integer'])) {
        return (int) $value['$integer'];
    }
    return $value['$dateTime'] ?? array_map('untagged', $value);
}

function tagged(mixed $value): mixed
{
    return match (true) {
        is_int($value) => ['$integer' => (string) $value],
        is_float($value) => ['$float' => (string) $value], // what no type of ours should become
        is_array($value) => array_map('tagged', $value),
        is_object($value) => (object) array_map('tagged', get_object_vars($value)),
        default => $value,
    };
}
