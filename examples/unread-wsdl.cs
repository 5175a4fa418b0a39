// wsdl http://127.0.0.1:8080/api/inbox.asmx?WSDL
// csc Program.cs inbox.cs -r:System.Web.Services.dll -r:System.Data.dll -r:System.Data.DataSetExtensions.dll
// (mcs in place of csc with Mono; in Visual Studio: Add Web Reference)
using System;

static class Program
{
    static void Main()
    {
        var service = new inbox();
        var answer = service.Unread("3f0d9c1e-6b1a-4a63-9b57-2f5f0a7d1c11", 20);
        foreach (var item in answer)
            Console.WriteLine("{0} | {1} | {2} | {3} | {4}", item.id, item.sender, item.message, item.short_code, item.timestamp);
    }
}
